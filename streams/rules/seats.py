"""Where an entity stands, from the merged inventory of its node.

The epoch of a seat is the event time of the first inventory record that named it; the greater epoch wins.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpuward.contracts.identity import Entity, NodeId, Slot
from gpuward.contracts.inventory import MergedNode
from gpuward.contracts.seat import Seat

Seats = Mapping[str, tuple[str, int]]
"""Entity → (what names its seat, epoch in ms)."""


def seat_of(node: NodeId, known: MergedNode | None, seats: Seats, entity: Entity, slot: Slot | None) -> Seat:
    """The seat of the node, of one of its GPUs, or of a slot of it. Unknown to the inventory: a bare seat, watch-only."""
    epoch = seats.get(str(entity), ("", 0))[1]
    if known is None:
        return Seat(node=node, slot=slot)
    gpu = next((gpu for gpu in known.gpus if entity == f"gpu/{gpu.gpu}"), None)
    seat = known.seat(gpu, epoch=epoch)
    return seat.model_copy(update={"slot": slot}) if slot and gpu is None else seat


def named_seats(known: MergedNode, before: Seats, at_ms: int) -> dict[str, tuple[str, int]]:
    """What names each seat now; an unchanged name keeps its epoch, a new one begins at `at_ms`."""
    names = {str(Entity.node(known.node)): f"{known.rack}"}
    names |= {str(Entity.gpu(gpu.gpu)): f"{known.rack}|{known.node}|{gpu.slot}" for gpu in known.gpus}
    return {
        entity: before[entity] if entity in before and before[entity][0] == name else (name, at_ms)
        for entity, name in names.items()
    }
