"""`gpuward get gpu|node|rack|pool X`: one entity in full."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.naming import choose
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import records_of, temporal_of
from gpuward.console.live.paint import word
from gpuward.contracts.actors import ACTORS, ActorView
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import EntityKind


@answered
async def gpu(name: str, /, *, live: bool = False, options: Options = PLAIN) -> Answer:
    """One GPU: its uuid, a unique beginning of it, or `node:slot`.

    Parameters
    ----------
    name
        Which one.
    live
        Ask the actor itself too, not only the records.

    """
    return await _get(EntityKind.GPU, name, live, options)


@answered
async def node(name: str, /, *, live: bool = False, options: Options = PLAIN) -> Answer:
    """One node, by name or a unique beginning of it. See `get gpu` for the options."""
    return await _get(EntityKind.NODE, name, live, options)


@answered
async def rack(name: str, /, *, live: bool = False, options: Options = PLAIN) -> Answer:
    """One rack, by name or a unique beginning of it. See `get gpu` for the options."""
    return await _get(EntityKind.RACK, name, live, options)


@answered
async def pool(name: str, /, *, live: bool = False, options: Options = PLAIN) -> Answer:
    """One pool and its guard. See `get gpu` for the options."""
    return await _get(EntityKind.POOL, name, live, options)


async def _get(kind: EntityKind, name: str, live: bool, options: Options) -> Answer:
    settings = options.settings()
    async with records_of(settings) as records:
        record = choose(await records.entities(kind), name, kind)
    view = await _ask(record, options) if live else None
    return Answer(as_document(record, view), screen(record, view))


async def _ask(record: EntityRecord, options: Options) -> ActorView:
    from gpuward.console.cli.rpc import asked

    client = await temporal_of(options.settings())
    handle = client.get_workflow_handle(ACTORS[record.entity_kind].workflow_id(record.entity))
    return await asked(handle.query("view", result_type=ActorView), record.entity)


def as_document(record: EntityRecord, view: ActorView | None) -> dict[str, Any]:
    """What `get --json` prints; its keys are stable."""
    return {
        "schema": "gpuward.get/1",
        **record.model_dump(mode="json", exclude={"kind", "entity_kind"}),
        "kind": str(record.entity_kind),
        "live": view.model_dump(mode="json") if view else None,
    }


def screen(record: EntityRecord, view: ActorView | None) -> RenderableType:
    """The same for people: only what is known."""
    table = Table.grid(padding=(0, 2))
    table.add_row(Text("state", style="dim"), word(record.lifecycle) + Text(" (blind)" if record.blind else ""))
    rows = {
        "node": record.node if record.entity_kind is EntityKind.GPU else None,
        "slot": record.slot,
        "rack": record.rack if record.entity_kind is not EntityKind.RACK else None,
        "domain": record.domain,
        "pool": record.pool if record.entity_kind is not EntityKind.POOL else None,
        "now": record.summary,
        "incidents": ", ".join(record.incidents),
        "boot": record.inventory.get("boot_id"),
        "updated": record.updated.isoformat(timespec="seconds") if record.updated else None,
    }
    policy = record.inventory.get("pool")
    if isinstance(policy, dict):
        rows |= {"mode": policy["mode"], "budget": ", ".join(f"{k} {v}" for k, v in policy["budget"].items())}
    if view:
        amnesia = "amnesiac, " if view.amnesiac else ""
        rows["actor"] = (
            f"{view.summary or view.lifecycle} ({amnesia}backlog {view.backlog}, history {view.history_length})"
        )
    for label, value in rows.items():
        if value:
            table.add_row(Text(label, style="dim"), str(value))
    tail = Text(f"gpuward why {record.entity} tells how it came to this.", style="dim")
    return Group(Text(str(record.entity), style="bold"), table, tail)
