"""One inventory record → the node's view, and what the entities are told of where they stand."""

from __future__ import annotations

from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity
from gpuward.contracts.inventory import InventoryChanged, MergedNode, NodeInventory, merge
from streams.rules.context import Context, to_ms
from streams.rules.draft import Draft
from streams.rules.seats import named_seats
from streams.rules.slots import learn
from streams.rules.view import NodeView


def take_inventory(
    view: NodeView, record: NodeInventory, context: Context
) -> tuple[NodeView, list[InventoryChanged], list[Fault]]:
    """Keeps the newest record of each source. Node, rack and each GPU hear of it where the merged node changed; a GPU that
    left hears nothing here, its new seat tells it. Open faults are told their new seat.
    """
    known = view.inventory.get(record.source)
    if known is not None and known.time >= record.time:
        return view, [], []
    draft = Draft(view, context)
    draft.inventory = {**view.inventory, record.source: record}
    before = merge(view.inventory.values(), context.pools)
    after = merge(draft.inventory.values(), context.pools)
    assert after is not None
    draft.seats = named_seats(after, view.seats, to_ms(record.time))
    draft.changed = True
    learn(draft, record.boot_id, ((gpu.slot, gpu.gpu) for gpu in record.gpus))
    changes = _changes(before, after, record, draft.seats)
    new_view, faults = draft.finish()
    return new_view, changes, faults


def _changes(
    before: MergedNode | None, after: MergedNode, record: NodeInventory, seats: dict[str, tuple[str, int]]
) -> list[InventoryChanged]:
    """Node first, so that it is there when its GPUs claim."""

    def told(entity: Entity, seat_entity: Entity, node: MergedNode, *, removed: bool = False) -> InventoryChanged:
        gpu = next((gpu for gpu in node.gpus if seat_entity == f"gpu/{gpu.gpu}"), None)
        epoch = seats.get(str(seat_entity), ("", 0))[1]
        return InventoryChanged(
            entity=entity,
            seat=node.seat(gpu, epoch=epoch),
            time=record.time,
            boot_id=node.boot_id,
            gpus=node.gpus if gpu is None else (gpu,),
            removed=removed or node.removed,
        )

    if before is not None and _stands(before) == _stands(after) and before.boot_id == after.boot_id:
        return []
    node = Entity.node(after.node)
    changes = [told(node, node, after)]
    if before is not None and _stands(before) == _stands(after):
        return changes
    if before is not None and before.rack and before.rack != after.rack:
        changes.append(told(Entity.rack(before.rack), node, before, removed=True))
    if after.rack:
        changes.append(told(Entity.rack(after.rack), node, after))
    changes += [told(Entity.gpu(gpu.gpu), Entity.gpu(gpu.gpu), after) for gpu in after.gpus]
    return changes


def _stands(node: MergedNode) -> MergedNode:
    """The node without what changes at every boot."""
    return node.model_copy(update={"version": 0, "boot_id": ""})
