"""`gpuward why X`: how it came to this, from the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.naming import choose
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import records_of
from gpuward.console.live.paint import look, word
from gpuward.console.story import Line, Told, faults_of, lines, plans_of
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import EntityKind
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.runtime.records import Records

_MOST = 10_000
_AT_ONCE = 500


@answered
async def why(
    name: str,
    /,
    *,
    hours: Annotated[float, Parameter(help="How far back to look.")] = 24.0,
    options: Options = PLAIN,
) -> Answer:
    """The story of an entity from the ledger, with the Kafka offsets of the evidence.

    Parameters
    ----------
    name
        A GPU, node, rack or pool: its name or a unique beginning.

    """
    async with records_of(options.settings()) as records:
        everyone = await records.entities()
        record = choose(everyone, name)
        since = datetime.now(UTC) - timedelta(hours=hours)
        story = lines(await gather(records, record, everyone, int(since.timestamp() * 1000)))
    return Answer(as_document(record, story), screen(record, story))


async def gather(records: Records, record: EntityRecord, everyone: Sequence[EntityRecord], since_ms: int) -> list[Told]:
    """What the ledger says of the entity, of the plans that it was part of (node, rack, guard, remediation), and of the
    faults behind them: so the story of a node begins at its GPU, and that of a GPU goes on at its node.
    """
    own = await records.outcomes([str(record.entity)], since_ms=since_ms, limit=_MOST)
    near = [] if record.entity_kind in _MANY else await _of(records, _neighbours(record, everyone), since_ms)
    faults = faults_of(own)
    near = [told for told in near if faults.intersection(told[0].cause.fault_ids)]
    plans = plans_of(own + near)
    of_plans = await records.outcomes(plans=plans, since_ms=since_ms, limit=_MOST) if plans else []
    if record.entity_kind in _MANY:
        faults = faults_of(of_plans)
        gpus = await _of(records, _neighbours(record, everyone), since_ms)
        near = [told for told in gpus if faults.intersection(told[0].cause.fault_ids)]
    return own + near + of_plans


_MANY = frozenset({EntityKind.RACK, EntityKind.POOL})
"""What they are told of are plans, not faults."""


async def _of(records: Records, entities: Sequence[str], since_ms: int) -> list[Told]:
    found: list[Told] = []
    for first in range(0, len(entities), _AT_ONCE):
        found += await records.outcomes(entities[first : first + _AT_ONCE], since_ms=since_ms, limit=_MOST)
    return found


def _neighbours(record: EntityRecord, everyone: Sequence[EntityRecord]) -> list[str]:
    """A GPU's node; of a node, rack or pool its GPUs."""
    name = record.entity.name
    if record.entity_kind is EntityKind.GPU:
        return [f"node/{record.node}"] if record.node else []
    gpus = (other for other in everyone if other.entity_kind is EntityKind.GPU)
    return [str(gpu.entity) for gpu in gpus if name in {gpu.node, gpu.rack, gpu.pool}]


def as_document(record: EntityRecord, story: list[Line]) -> dict[str, Any]:
    """What `why --json` prints; its keys are stable."""
    return {
        "schema": "gpuward.why/1",
        "entity": str(record.entity),
        "lifecycle": record.lifecycle,
        "summary": record.summary,
        "incidents": list(record.incidents),
        "story": [line.as_document() for line in story],
    }


def screen(record: EntityRecord, story: list[Line]) -> RenderableType:
    """The story for people: a line per outcome, under it the evidence and where it lies."""
    now = Text.assemble((str(record.entity), "bold"), " is ", word(record.lifecycle), ". ", record.summary)
    if not story:
        return Group(
            now, Text("The ledger tells nothing of it in this time: nothing was decided about it.", style="dim")
        )
    table = Table.grid(padding=(0, 2))
    told: set[tuple[str, int, int]] = set()
    for line in story:
        table.add_row(
            Text(f"{line.outcome.time.astimezone():%H:%M:%S}", style="dim"),
            Text(line.who, style="cyan", overflow="ellipsis", no_wrap=True),
            Text(line.what, style=_style(line)),
            Text(line.text),
        )
        for evidence in line.outcome.cause.evidence:
            lies = (evidence.topic, evidence.partition, evidence.offset)
            if lies in told:
                continue
            told.add(lies)
            place = f"{evidence.topic}/{evidence.partition}@{evidence.offset}"
            where = Text(place, style="dim", overflow="fold")
            table.add_row("", where, Text("evidence", style="dim"), Text(evidence.text, style="dim"))
    return Group(now, table)


def _style(line: Line) -> str:
    return look(line.outcome.after).style if line.outcome.what is OutcomeKind.EDGE and line.outcome.after else ""
