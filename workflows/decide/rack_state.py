"""What a rack's actor remembers: its members, the plans of its nodes, and the incidents of the rack itself."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, Field

from gpuward.contracts.claims import Ask, Plan, RackAvailability
from gpuward.contracts.faults import Evidence, Revision
from gpuward.contracts.identity import DomainId, Entity, NodeId, PoolId, RackId
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import Cause
from gpuward.contracts.remedies import HoldClass, Severity
from workflows.decide.decisions import Decision, Tell
from workflows.decide.memory import Memory, rising

NEVER_HEARD = "not heard of yet"


class Member(BaseModel):
    """One node that stands in the rack, and what it said last of its availability."""

    pool: str = ""
    epoch: int = -1
    seated: datetime | None = None
    domains: tuple[str, ...] = ()
    available: bool | None = None
    """None: never heard of. Law: that counts as unavailable."""
    cause: str = ""
    revision: int = -1


class PlanStatus(StrEnum):
    HELD = "held"
    ASKED = "asked"
    EXPLAINED = "explained"


class RackPlan(BaseModel):
    """A node's plan on its way to the pool guard."""

    plan: Plan
    status: PlanStatus
    until: datetime | None = None
    """When a hold ends."""


class RackIncident(BaseModel):
    """A fault of the rack, or of an NVLink domain in it, that explains what its children need."""

    fault_id: str
    fault_class: str
    severity: Severity
    children: tuple[str, ...]
    because: str = ""
    evidence: tuple[Evidence, ...] = ()
    policy: str = ""
    deadline: datetime
    expired: bool = False
    """Nobody answered in time: the plans it explained have gone on to the pool."""

    @property
    def cause(self) -> Cause:
        return Cause(fault_ids=(self.fault_id,), evidence=self.evidence, policy=self.policy)

    def explains(self, plan: Plan) -> bool:
        """Only plans of classes with a rack-scope explanation; a device off the bus is not explained by a silent rack."""
        if self.expired or plan.hold is not HoldClass.RACK:
            return False
        return bool({f"node/{plan.node}", *(f"gpu/{gpu}" for gpu in plan.gpus)} & set(self.children))


class Restating(BaseModel):
    """A guard has asked what this rack holds; its members are being asked in turn."""

    guard: Entity
    id: str
    unanswered: tuple[str, ...]
    deadline: datetime


class State(Memory):
    """Everything that one rack's actor remembers."""

    lifecycle: Lifecycle = Lifecycle.HEALTHY
    members: dict[str, Member] = Field(default_factory=dict)
    plans: dict[str, RackPlan] = Field(default_factory=dict)
    """By node: one plan at a time."""
    withdrawn: dict[str, int] = Field(default_factory=dict)
    """Plan → revision at which its node withdrew it."""
    incidents: dict[str, RackIncident] = Field(default_factory=dict)
    """By fault class."""
    seen: dict[str, Revision] = Field(default_factory=dict)
    handed_back: list[str] = Field(default_factory=list)
    """Plans whose slot was given back, newest last."""
    revisions: dict[str, int] = Field(default_factory=dict)
    told: dict[str, RackAvailability] = Field(default_factory=dict)
    """By pool: the level as last said, with revision 0."""
    restating: dict[str, Restating] = Field(default_factory=dict)
    directives: list[str] = Field(default_factory=list)

    @property
    def pools(self) -> list[str]:
        return sorted({member.pool for member in self.members.values() if member.pool})

    def level(self, pool: str) -> RackAvailability:
        """The availability level of this rack's members in one pool, without a revision."""
        inside = {name: member for name, member in sorted(self.members.items()) if member.pool == pool}
        return RackAvailability(
            rack=RackId(self.entity.name),
            pool=PoolId(pool),
            revision=0,
            members=tuple(NodeId(name) for name in inside),
            unavailable={
                NodeId(name): member.cause or NEVER_HEARD for name, member in inside.items() if not member.available
            },
            domains={NodeId(name): tuple(map(DomainId, member.domains)) for name, member in inside.items()},
        )

    def stamped(self, pool: str, now: datetime) -> RackAvailability:
        """The level with its next revision, remembered as said."""
        level = self.level(pool)
        self.told[pool] = level
        self.revisions[pool] = rising(self.revisions.get(pool, 0), now)
        return level.model_copy(update={"revision": self.revisions[pool]})

    def ask(self, plan: Plan, now: datetime, out: list[Decision]) -> None:
        """Sends a plan on to its pool guard. Each ask has a revision of its own, so that a late one can be told."""
        if plan.seat.pool is not None:
            pool = str(plan.seat.pool)
            out.append(Tell(Entity.pool(pool), Ask(plan=plan, availability=self.stamped(pool, now))))
