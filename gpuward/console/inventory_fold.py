"""Folds what stands where into entity records, so that an entity without any history is listed too. Pure.

`fleet.inventory-changes.v1` says where an entity stands now and with which epoch. `fleet.inventory.v1` is compacted and
therefore whole, also when the changes have been deleted by age: it only names what nobody has spoken of yet (epoch 0).
"""

from __future__ import annotations

from typing import Any

from gpuward.console.seats import filled, moved, reseated
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.inventory import InventoryChanged, NodeInventory
from gpuward.contracts.policy import PolicyChanged


def fold_change(record: EntityRecord, change: InventoryChanged) -> EntityRecord:
    """The record after an inventory change of its entity; an older one changes nothing."""
    if record.entity_kind is EntityKind.RACK:
        return _with_member(record, change)
    epoch, time = change.seat.epoch, change.time.timestamp()
    if (epoch, time) < (record.inventory.get("epoch", 0), record.inventory.get("time", 0)):
        return record
    seat = change.seat.model_dump(mode="json")
    if epoch > record.seat_epoch:
        record = reseated(record, seat, epoch)
    elif epoch == record.seat_epoch:
        record = moved(record, seat)
    kept = {"sources": record.inventory["sources"]} if "sources" in record.inventory else {}
    said = {
        "epoch": epoch,
        "time": time,
        "boot_id": change.boot_id,
        "removed": change.removed,
        "address": seat["address"],
        "gpus": [gpu.model_dump(mode="json") for gpu in change.gpus],
    }
    return record.model_copy(update={"inventory": kept | said})


def _with_member(record: EntityRecord, change: InventoryChanged) -> EntityRecord:
    members: dict[str, Any] = dict(record.inventory.get("members", {}))
    node, time = str(change.seat.node), change.time.timestamp()
    if time < members.get(node, {}).get("time", 0):
        return record
    members[node] = {"time": time, "epoch": change.seat.epoch, "removed": change.removed, "pool": change.seat.pool}
    pools = sorted({str(member["pool"]) for member in members.values() if member.get("pool") and not member["removed"]})
    update = {
        "inventory": record.inventory | {"members": dict(sorted(members.items()))},
        "pool": ", ".join(pools) or None,
    }
    return record.model_copy(update=update)


def fold_policy(record: EntityRecord, change: PolicyChanged) -> EntityRecord:
    """The record of a pool after its policy changed; the greater revision wins."""
    if change.revision < record.inventory.get("revision", 0):
        return record
    said = {"revision": change.revision, "policy": change.version, "pool": change.pool.model_dump(mode="json")}
    return record.model_copy(update={"inventory": record.inventory | said})


def node_touches(node: NodeInventory) -> tuple[Entity, ...]:
    """The node, its rack and its GPUs."""
    rack = (Entity.rack(node.rack),) if node.rack else ()
    return (Entity.node(node.node), *rack, *(Entity.gpu(gpu.gpu) for gpu in node.gpus))


def fold_node(record: EntityRecord, node: NodeInventory) -> EntityRecord:
    """The record of a node, its rack or one of its GPUs after one source spoke of the node."""
    if record.entity_kind is EntityKind.NODE:
        record = _with_source(record, node)
    if record.entity_kind is EntityKind.RACK or record.seat_epoch > 0 or node.removed:
        return record
    return filled(record, {"node": node.node, "rack": node.rack} | _own(record, node))


def _own(record: EntityRecord, node: NodeInventory) -> dict[str, Any]:
    mine = next((gpu for gpu in node.gpus if gpu.gpu == record.entity.name), None)
    return {"slot": mine.slot, "domain": mine.domain} if mine else {}


def _with_source(record: EntityRecord, node: NodeInventory) -> EntityRecord:
    sources: dict[str, Any] = dict(record.inventory.get("sources", {}))
    time = node.time.timestamp()
    if time < sources.get(node.source, {}).get("time", 0):
        return record
    sources[node.source] = {"time": time, "removed": node.removed, "labels": node.labels, "gpus": len(node.gpus)}
    return record.model_copy(update={"inventory": record.inventory | {"sources": dict(sorted(sources.items()))}})
