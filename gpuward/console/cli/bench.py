"""`gpuward bench …`: measures gpuward beside a floor, on an embedded stack of its own."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Misused
from gpuward.console.cli.options import PLAIN, Options


@answered
async def chain(
    *,
    faults: Annotated[int, Parameter(help="Faults of each side.")] = 60,
    rate: Annotated[float, Parameter(help="Faults a second.")] = 3.0,
    options: Options = PLAIN,  # noqa: ARG001 - `answered` reads it
) -> Answer:
    """Fault to first activity of its remediation, beside an empty chain with the same hops and messages."""
    from gpuward.console.bench.chain import document, measure

    if faults < 1 or rate <= 0:
        raise Misused("There must be faults to measure, and a rate above zero.")
    real, empty, load = await measure(faults, rate, _say)
    found = document(real, empty, load, rate)
    return Answer(found, _screen(found))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _screen(found: dict[str, object]) -> Table:
    table = Table("", "gpuward", "empty chain", title=f"fault → first activity: {found['ratio']} times an empty chain")
    for name in ("p50_ms", "p99_ms"):
        table.add_row(name, str(found[name]), str(found[f"floor_{name}"]))
    tasks, floor = found["tasks"], found["floor_tasks"]
    assert isinstance(tasks, dict)
    assert isinstance(floor, dict)
    for name in ("in_sequence", "to_first_activity", "whole"):
        table.add_row(f"workflow tasks, {name.replace('_', ' ')}", str(tasks[name]), str(floor[name]))
    return table
