"""Folds the ledger, the inventory and the policy into entity records. Pure.

Law: folding the same items again gives the same records (an outcome is known by its id, an inventory by its time, a seat
by its epoch). Law: what the ledger says and what the inventory says meet in different fields, or are ordered by the seat
epoch, so the order in which the two topics are read does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpuward.console.inventory_fold import fold_change, fold_node, fold_policy, node_touches
from gpuward.console.seats import filled, reseated
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.inventory import InventoryChanged, NodeInventory
from gpuward.contracts.outcomes import Outcome, OutcomeKind
from gpuward.contracts.policy import PolicyChanged

Item = Outcome | InventoryChanged | NodeInventory | PolicyChanged

_NO_NEWS = frozenset({OutcomeKind.CHECKPOINT, OutcomeKind.EDGE, OutcomeKind.STEP, OutcomeKind.ACT})
"""Kinds of outcome that are no decision: their text does not say what an entity is about now."""


def touches(item: Item) -> tuple[Entity, ...]:
    """The entities whose records this item changes."""
    if isinstance(item, NodeInventory):
        return node_touches(item)
    return (item.entity,)


def fold(
    records: Mapping[Entity, EntityRecord], items: Iterable[Item], known: Iterable[str] = ()
) -> dict[Entity, EntityRecord]:
    """The records after `items`, in order; only those that are touched. `known` are ids of outcomes folded before.

    `records` must hold every touched entity that has a record already.
    """
    after: dict[Entity, EntityRecord] = {}
    seen = set(known)
    for item in items:
        if isinstance(item, Outcome):
            if item.id in seen:
                continue
            seen.add(item.id)
        for entity in touches(item):
            before = after.get(entity) or records.get(entity) or blank(entity)
            after[entity] = _one(before, item)
    return after


def blank(entity: Entity) -> EntityRecord:
    """The record of an entity of which nothing is known but its name, which for some kinds is part of its seat."""
    kind = entity.kind
    place = (
        {kind.value: entity.name}
        if kind in {EntityKind.NODE, EntityKind.RACK, EntityKind.DOMAIN, EntityKind.POOL}
        else {}
    )
    return EntityRecord(entity=entity, entity_kind=kind, **place)


def _one(record: EntityRecord, item: Item) -> EntityRecord:
    if isinstance(item, Outcome):
        return fold_outcome(record, item)
    if isinstance(item, InventoryChanged):
        return fold_change(record, item)
    if isinstance(item, PolicyChanged):
        return fold_policy(record, item)
    return fold_node(record, item)


def fold_outcome(record: EntityRecord, outcome: Outcome) -> EntityRecord:
    """The record after one outcome of its entity, which has not been folded before."""
    changed: dict[str, Any] = {"updated": max(outcome.time, record.updated or outcome.time)}
    if outcome.text and outcome.what not in _NO_NEWS:
        changed["summary"] = outcome.text
    if outcome.checkpoint is not None:
        changed["state"] = outcome.checkpoint
    if isinstance(outcome.details.get("blind"), bool):
        changed["blind"] = outcome.details["blind"]
    by_kind = _BY_KIND.get(outcome.what)
    if by_kind is not None:
        changed |= by_kind(record, outcome)
    return _with_seat(record.model_copy(update=changed), outcome)


def _edge(_: EntityRecord, outcome: Outcome) -> dict[str, Any]:
    return {"lifecycle": outcome.after} if outcome.after else {}


def _opened(record: EntityRecord, outcome: Outcome) -> dict[str, Any]:
    incident = incident_of(outcome)
    return {} if incident in record.incidents else {"incidents": (*_others(record, incident), incident)}


def _closed(record: EntityRecord, outcome: Outcome) -> dict[str, Any]:
    return {"incidents": _others(record, incident_of(outcome))}


def _others(record: EntityRecord, incident: str) -> tuple[str, ...]:
    identity = incident.rpartition("#")[2]
    return tuple(open_ for open_ in record.incidents if open_.rpartition("#")[2] != identity)


_BY_KIND: dict[OutcomeKind, Callable[[EntityRecord, Outcome], dict[str, Any]]] = {
    OutcomeKind.EDGE: _edge,
    OutcomeKind.INCIDENT_OPENED: _opened,
    OutcomeKind.INCIDENT_CLOSED: _closed,
}


def incident_of(outcome: Outcome) -> str:
    """`<fault class>#<id>` of the incident that an outcome opens or closes; the id alone tells incidents apart."""
    return f"{outcome.details.get('fault_class') or 'incident'}#{outcome.details.get('incident') or outcome.name}"


def _with_seat(record: EntityRecord, outcome: Outcome) -> EntityRecord:
    epoch = outcome.seat.get("epoch")
    if not isinstance(epoch, int) or record.entity_kind is EntityKind.RACK:
        return record
    if epoch > record.seat_epoch:
        return reseated(record, outcome.seat, epoch)
    return filled(record, outcome.seat) if epoch == record.seat_epoch else record
