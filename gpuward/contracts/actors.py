"""TABLE of actors: which workflow an entity is, how it is addressed, what it takes and answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from gpuward.contracts import messages, updates
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.model import Contract

DECIDE_QUEUE = "gpuward-decide"
"""Task queue of every actor, guard and remediation workflow."""


class ActorInput(Contract):
    """Start argument of every actor. `state` is None at birth and after a loss, else what continue-as-new carries.

    `pending` are raw messages that were not yet decoded when the last run ended.
    """

    version: int = 1
    entity: Entity
    state: dict[str, Any] | None = None
    pending: list[dict[str, Any]] = Field(default_factory=list)


class ActorView(Contract):
    """Answer of the query `view`: what a person wants to see of one actor, in plain JSON."""

    entity: Entity
    lifecycle: str
    summary: str
    amnesiac: bool
    state: dict[str, Any]
    backlog: int
    history_length: int


@dataclass(frozen=True, slots=True)
class Actor:
    """One row. The workflow id is the entity itself. Every actor takes the signal `deliver` and answers the query `view`."""

    kind: EntityKind
    workflow: str
    topics: tuple[str, ...]
    """Kafka topics whose records the bridge brings."""
    updates: dict[str, tuple[type[Contract], type[Contract]]] = field(default_factory=dict)
    queries: tuple[str, ...] = ("view",)
    signal: str = messages.DELIVER
    task_queue: str = DECIDE_QUEUE

    def workflow_id(self, entity: Entity) -> str:
        return str(entity)


_U = updates
_GUARD_UPDATES: dict[str, tuple[type[Contract], type[Contract]]] = {
    "begin": (_U.Begin, _U.BeginAnswer),
    "stop": (_U.Stop, _U.StopAnswer),
    "resume": (_U.Resume, _U.StopAnswer),
    "write_off": (_U.WriteOff, _U.PersonAnswer),
}
_FROM_KAFKA = ("fleet.faults.v1", "fleet.inventory-changes.v1", "fleet.directives.v1")

ACTORS: dict[EntityKind, Actor] = {
    actor.kind: actor
    for actor in (
        Actor(EntityKind.GPU, "GpuActor", _FROM_KAFKA),
        Actor(
            EntityKind.NODE,
            "NodeActor",
            _FROM_KAFKA,
            updates={"approve": (_U.Approve, _U.PersonAnswer), "reject": (_U.Reject, _U.PersonAnswer)},
            queries=("view", "question"),
        ),
        Actor(EntityKind.RACK, "RackActor", _FROM_KAFKA),
        Actor(EntityKind.POOL, "PoolGuard", ("fleet.policy.v1", "fleet.directives.v1"), updates=_GUARD_UPDATES),
    )
}
REMEDIATION_WORKFLOW = "Remediation"
