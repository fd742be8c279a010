"""Current state of one entity: the read model's record, folded from outcomes and inventory by the projector alone."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.model import Contract


class EntityRecord(Contract):
    """What lists, map and an actor without state read. `state` is the newest checkpoint the actor gave."""

    kind: Literal["entity"] = "entity"
    entity: Entity
    entity_kind: EntityKind
    lifecycle: str = "healthy"
    blind: bool = False
    node: str | None = None
    slot: str | None = None
    rack: str | None = None
    domain: str | None = None
    pool: str | None = None
    seat_epoch: int = 0
    summary: str = ""
    """One line for people: the newest decision."""
    incidents: tuple[str, ...] = ()
    updated: datetime | None = None
    state: dict[str, Any] = Field(default_factory=dict)
    inventory: dict[str, Any] = Field(default_factory=dict)


class Loaded(Contract):
    """Answer of `records.load`. `none`: new, start fresh. `unavailable`: the records did not answer, stay amnesiac."""

    status: Literal["none", "found", "unavailable"]
    record: EntityRecord | None = None
