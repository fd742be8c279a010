"""Records as racks, nodes and GPUs in the order a person walks the aisle. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import EntityKind

NOWHERE = "(no rack)"


@dataclass(slots=True)
class Node:
    """One node and its GPUs by slot. `record` is None where only its GPUs are known."""

    name: str
    record: EntityRecord | None = None
    gpus: list[EntityRecord] = field(default_factory=list)


@dataclass(slots=True)
class Rack:
    """One rack and its nodes by name."""

    name: str
    record: EntityRecord | None = None
    nodes: dict[str, Node] = field(default_factory=dict)


def tree(records: Iterable[EntityRecord]) -> list[Rack]:
    """Every rack, node and GPU that stands somewhere; what was removed is left out."""
    racks: dict[str, Rack] = {}
    for record in records:
        if record.inventory.get("removed"):
            continue
        if record.entity_kind is EntityKind.RACK:
            racks.setdefault(record.entity.name, Rack(record.entity.name)).record = record
        elif record.entity_kind is EntityKind.NODE:
            _node(racks, record, record.entity.name).record = record
        elif record.entity_kind is EntityKind.GPU and record.node:
            _node(racks, record, record.node).gpus.append(record)
    _gather(racks)
    for rack in racks.values():
        rack.nodes = dict(sorted(rack.nodes.items(), key=lambda item: natural(item[0])))
        for node in rack.nodes.values():
            node.gpus.sort(key=lambda gpu: (gpu.slot or "", gpu.entity.name))
    return sorted(racks.values(), key=lambda rack: natural(rack.name))


def _node(racks: dict[str, Rack], record: EntityRecord, name: str) -> Node:
    rack = racks.setdefault(record.rack or NOWHERE, Rack(record.rack or NOWHERE))
    return rack.nodes.setdefault(name, Node(name))


def _gather(racks: dict[str, Rack]) -> None:
    """GPUs whose own record does not know the rack go to where their node stands."""
    homes = {name: rack for rack in racks.values() for name, node in rack.nodes.items() if node.record is not None}
    for rack in list(racks.values()):
        for name, node in list(rack.nodes.items()):
            home = homes.get(name)
            if node.record is None and home is not None and home is not rack:
                home.nodes[name].gpus.extend(node.gpus)
                del rack.nodes[name]
        if not rack.nodes and rack.record is None:
            del racks[rack.name]


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts node-10 after node-9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def counts(records: Iterable[EntityRecord], kind: EntityKind) -> dict[str, int]:
    """Lifecycle → how many of this kind are in it."""
    return dict(Counter(record.lifecycle for record in records if record.entity_kind is kind))


def as_document(racks: Sequence[Rack]) -> list[dict[str, Any]]:
    """The tree in plain JSON, as `gpuward fleet --json` prints it."""
    return [
        {
            "rack": rack.name,
            "lifecycle": rack.record.lifecycle if rack.record else None,
            "nodes": [
                _brief(node.record, node=node.name)
                | {"pool": node.record.pool if node.record else None}
                | {"gpus": [_brief(gpu, gpu=gpu.entity.name, slot=gpu.slot) for gpu in node.gpus]}
                for node in rack.nodes.values()
            ],
        }
        for rack in racks
    ]


def _brief(record: EntityRecord | None, **names: str | None) -> dict[str, Any]:
    return {
        **names,
        "lifecycle": record.lifecycle if record else None,
        "blind": record.blind if record else None,
        "incidents": list(record.incidents) if record else [],
        "summary": record.summary if record else "",
    }
