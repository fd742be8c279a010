"""`gpuward dlq list`: what could not be read, where it lay and why."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import reading
from gpuward.console.unreadable import described
from gpuward.contracts.topics import DEAD_LETTERS

_SHOWN_BYTES = 60


@answered
async def letters(
    *, limit: Annotated[int, Parameter(help="At most so many, newest last.")] = 100, options: Options = PLAIN
) -> Answer:
    """What could not be read, where it lay and why."""
    found = [described(record) async for record in reading(options.settings(), DEAD_LETTERS)]
    found.sort(key=lambda letter: letter["time"])
    shown = found[-limit:]
    document = {"schema": "gpuward.dlq/1", "total": len(found), "letters": shown}
    return Answer(document, _screen(shown) if shown else "There are no dead letters.")


def _screen(shown: list[dict[str, Any]]) -> Table:
    table = Table("when", "topic/partition@offset", "reason", "detail", "value", box=None, header_style="dim")
    for letter in shown:
        place = f"{letter['topic']}/{letter['partition']}@{letter['offset']}"
        table.add_row(letter["time"][:19], place, letter["reason"], letter["detail"], letter["value"][:_SHOWN_BYTES])
    return table
