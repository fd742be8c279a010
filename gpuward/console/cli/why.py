"""`gpuward why X`: how it came to this, from the ledger."""

from __future__ import annotations

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
from gpuward.console.story import Line, Told, lines, plans_of
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import EntityKind
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.runtime.records import Records

_MOST = 10_000


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
        record = choose(await records.entities(), name)
        since = datetime.now(UTC) - timedelta(hours=hours)
        story = lines(await gather(records, record, int(since.timestamp() * 1000)))
    return Answer(as_document(record, story), screen(record, story))


async def gather(records: Records, record: EntityRecord, since_ms: int) -> list[Told]:
    """What the ledger says of the entity and of the plans that it was part of: node, rack, guard and remediation."""
    own = await records.outcomes([str(record.entity)], since_ms=since_ms, limit=_MOST)
    plans = plans_of(own)
    if record.entity_kind is EntityKind.GPU and record.node:
        faults = {fault for outcome, _, _ in own for fault in outcome.cause.fault_ids}
        node = await records.outcomes([f"node/{record.node}"], since_ms=since_ms, limit=_MOST)
        shared = [told for told in node if faults.intersection(told[0].cause.fault_ids)]
        plans += [plan for plan in plans_of(shared) if plan not in plans]
        own += shared
    return own + (await records.outcomes(plans=plans, since_ms=since_ms, limit=_MOST) if plans else [])


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
    for line in story:
        table.add_row(
            Text(f"{line.outcome.time.astimezone():%H:%M:%S}", style="dim"),
            Text(str(line.outcome.entity), style="cyan", overflow="ellipsis", no_wrap=True),
            Text(line.what, style=_style(line)),
            Text(line.text),
        )
        for evidence in line.outcome.cause.evidence if line.outcome.what in _SHOWS_EVIDENCE else ():
            place = f"{evidence.topic}/{evidence.partition}@{evidence.offset}"
            where = Text(place, style="dim", overflow="fold")
            table.add_row("", where, Text("evidence", style="dim"), Text(evidence.text, style="dim"))
    return Group(now, table)


_SHOWS_EVIDENCE = frozenset({OutcomeKind.INCIDENT_OPENED, OutcomeKind.RECORDED, OutcomeKind.DECISION})


def _style(line: Line) -> str:
    return look(line.outcome.after).style if line.outcome.what is OutcomeKind.EDGE and line.outcome.after else ""
