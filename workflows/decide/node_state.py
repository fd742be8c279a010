"""What a node's actor remembers: its seat, the claims on it, and the one plan that it works on."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, Field

from gpuward.contracts.claims import AttemptEnded, Claim, Limits, Plan, Token
from gpuward.contracts.identity import Entity
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import Cause
from gpuward.contracts.remedies import HoldClass, Remedy
from gpuward.contracts.seat import Seat
from gpuward.contracts.updates import PendingQuestion
from workflows.decide.boots import Boots
from workflows.decide.memory import Memory, rising
from workflows.decide.sickness import Sickness

PATIENCE_S = 60.0
MAX_PATIENCE_S = 600.0
"""Law: every open ask has a re-ask deadline, 60 s doubling to 10 min, kept by the asker."""


class Status(StrEnum):
    """Where a plan stands. The first five wait for others; `answers`: the attempt has ended, the claimants are to say more."""

    ASKING = "asking"
    HELD = "held"
    QUEUED = "queued"
    DENIED = "denied"
    EXPLAINED = "explained"
    LOOKING = "looking"
    RUNNING = "running"
    ANSWERS = "answers"
    QUARANTINED = "quarantined"
    HANDING_BACK = "handing_back"


WAITING = frozenset({Status.ASKING, Status.HELD, Status.QUEUED, Status.DENIED, Status.EXPLAINED})


class OpenPlan(BaseModel):
    """One merged plan. It stays open, under one cordon and one slot of the budget, until no claim is open."""

    id: str
    revision: int
    remedy: Remedy
    opened: datetime
    attempt: int = 1
    """Numbered through the plan, not per rung; each attempt has one child."""
    gpus: tuple[str, ...] = ()
    hold: HoldClass = HoldClass.NONE
    hold_s: float = 45
    priority: int = 3
    fault_ids: tuple[str, ...] = ()
    boot_id: str = ""
    status: Status = Status.ASKING
    reason: str = ""
    wake: datetime | None = None
    patience_s: float = PATIENCE_S
    token: Token | None = None
    """Of the newest grant; it stays while its slot is charged."""
    claimants: tuple[str, ...] = ()
    """Whose claims the running (or just ended) attempt is for."""
    unanswered: tuple[str, ...] = ()
    ended: AttemptEnded | None = None
    phase: Lifecycle | None = None
    acted: bool = False
    """This attempt: the irreversible act may have happened."""
    sought: bool = False
    """This attempt: its child was found not to run any more, and its report is waited for a little longer."""
    ran: bool = False
    """An attempt was started once: there may be a cordon, and there is a slot to give back."""
    cordon_left: bool = False
    """The last attempt left its cordon in place."""
    unproven: bool = False
    """Something was done to the node and no validation has passed since. Law: then it is not handed back."""

    def wait(self, now: datetime) -> None:
        """Sets the next re-ask, and the one after that later."""
        self.wake = now + timedelta(seconds=self.patience_s)
        self.patience_s = min(MAX_PATIENCE_S, self.patience_s * 2)


class State(Memory):
    """Everything that one node's actor remembers."""

    seat: Seat | None = None
    seated: datetime | None = None
    boots: Boots = Field(default_factory=Boots)
    gpus: tuple[str, ...] = ()
    """UUIDs of the GPUs that stand in it."""
    present: bool = True
    sick: Sickness = Field(default_factory=Sickness)
    """Its own faults (`node.*`): the node is its own claimant."""
    claims: dict[str, Claim] = Field(default_factory=dict)
    """The newest claim per claimant, empty ones too (their revision counts)."""
    plan: OpenPlan | None = None
    started: int = 0
    """Plans opened so far."""
    lifecycle: Lifecycle = Lifecycle.HEALTHY
    limits: Limits = Limits()
    """Those of the newest grant."""
    guard: Entity | None = None
    question: PendingQuestion | None = None
    cordoned_by: str = ""
    """A person who keeps it out of service through gpuward."""
    drain_by: str = ""
    remind: datetime | None = None
    elsewhere: str = ""
    """Another owner whose cordon stands beside ours, or did when we gave ours back."""
    retired: bool = False
    performing: dict[str, str] = Field(default_factory=dict)
    """Tag → action that has not answered yet."""
    performed: int = 0
    told: tuple[str, bool, str] | None = None
    """(rack, available, cause) as last said."""
    availability_revision: int = 0
    noted: str = ""
    """What was noted last about a node that is only watched."""
    directives: list[str] = Field(default_factory=list)

    @property
    def node(self) -> str:
        return self.entity.name

    @property
    def rack(self) -> Entity | None:
        return Entity.rack(self.seat.rack) if self.seat is not None and self.seat.rack else None

    def cause(self) -> Cause:
        """Why: the plan with its faults, and the evidence of the node's own."""
        own = self.sick.cause()
        if self.plan is None:
            return own
        token = self.plan.token
        return own.model_copy(
            update={
                "fault_ids": self.plan.fault_ids or own.fault_ids,
                "plan": self.plan.id,
                "attempt": self.plan.attempt,
                "token": (token.epoch, token.n) if token is not None else None,
            }
        )

    def as_plan(self, plan: OpenPlan, *, withdrawn: bool = False) -> Plan:
        """The plan as it goes to the rack."""
        assert self.seat is not None
        return Plan(
            plan=plan.id,
            revision=plan.revision,
            node=self.seat.node,
            seat=self.seat,
            boot_id=plan.boot_id,
            remedy=plan.remedy,
            attempt=plan.attempt,
            hold=plan.hold,
            hold_s=plan.hold_s,
            priority=plan.priority,
            fault_ids=plan.fault_ids,
            gpus=plan.gpus,
            withdrawn=withdrawn,
        )

    def next_revision(self, plan: OpenPlan, now: datetime) -> None:
        plan.revision = rising(plan.revision, now)
