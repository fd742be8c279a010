"""What a pool guard remembers: its policy, the availability of its racks, the charged slots and the asks in line.

A slot is one node that is disturbed. It stays charged from the grant until the node is handed back or written off.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, Field

from gpuward.contracts.claims import Plan, Token
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.contracts.policy import PoolPolicy
from gpuward.contracts.remedies import Remedy
from workflows.decide.decisions import Decision, Note
from workflows.decide.fsm import GuardState
from workflows.decide.memory import Memory

FREE = "free"
MAX_CLOSED = 128


class SlotStatus(StrEnum):
    """`granted`: a token is out. `begun`: an act began under it. `overdue`: its time is up, and it stays charged.
    `revoked`: a rack incident took the token back. `restated`: known only from what the rack said after a loss of memory.
    """

    GRANTED = "granted"
    BEGUN = "begun"
    OVERDUE = "overdue"
    REVOKED = "revoked"
    RESTATED = "restated"


class Asked(BaseModel):
    """One attempt that a node asks a grant for, in line."""

    node: str
    plan: str
    attempt: int
    revision: int
    rack: str = ""
    domains: tuple[str, ...] = ()
    remedy: Remedy
    boot_id: str = ""
    fault_ids: tuple[str, ...] = ()
    priority: int = 3
    since: datetime
    told: str = ""
    """The reason for waiting that the node was told last."""

    @classmethod
    def of(cls, plan: Plan, domains: tuple[str, ...], since: datetime) -> Asked:
        return cls(
            node=plan.node,
            plan=plan.plan,
            attempt=plan.attempt,
            revision=plan.revision,
            rack=str(plan.seat.rack or ""),
            domains=domains,
            remedy=plan.remedy,
            boot_id=plan.boot_id,
            fault_ids=plan.fault_ids[:4],
            priority=plan.priority,
            since=since,
        )


class Slot(BaseModel):
    """One charged slot."""

    asked: Asked
    status: SlotStatus
    token: Token
    prior: Token | None = None
    """The token before a renewal: the child may still hold it. Good until its own deadline."""
    prior_not_after: datetime | None = None
    granted: datetime
    not_after: datetime
    """When the right to act ends."""
    back_by: datetime
    """When the node should have been handed back."""
    acts: list[str] = Field(default_factory=list)
    """Begun, as `<attempt>:<action>`. Law: one attempt begins each action at most once."""
    refused_by_stop: bool = False
    """Its child waits, cordoned, for a new token."""

    def begun_now(self) -> bool:
        return any(act.startswith(f"{self.asked.attempt}:") for act in self.acts)

    def cause(self) -> Cause:
        return Cause(
            fault_ids=self.asked.fault_ids,
            plan=self.asked.plan,
            attempt=self.asked.attempt,
            token=(self.token.epoch, self.token.n),
        )


class RackLevel(BaseModel):
    """The newest availability of one rack's members in this pool."""

    revision: int = -1
    members: int = 0
    unavailable: dict[str, str] = Field(default_factory=dict)


class Stopped(BaseModel):
    """A person's stop."""

    person: str
    reason: str = ""
    since: datetime
    noted: bool = False


class State(Memory):
    """Everything that one pool's guard remembers."""

    policy: PoolPolicy | None = None
    policy_version: str = ""
    policy_revision: int = -1
    fsm: GuardState = GuardState.CLOSED
    epoch: int = 0
    """Time in ms at which memory came back last: tokens of another epoch begin nothing."""
    n: int = 0
    """Tokens given out in this epoch."""
    stopped: Stopped | None = None
    fleet: Stopped | None = None
    fleet_revision: int = -1
    racks: dict[str, RackLevel] = Field(default_factory=dict)
    slots: dict[str, Slot] = Field(default_factory=dict)
    """By node. Law: at most one charged slot per node."""
    line: dict[str, Asked] = Field(default_factory=dict)
    """By node: asks that wait for a grant."""
    orders: dict[str, int] = Field(default_factory=dict)
    """By node: availability revision of the newest ask taken in; what is older came late and is ignored."""
    closed: dict[str, int] = Field(default_factory=dict)
    """Plans whose slot came free → revision up to which their asks are late ones (-1: all)."""
    would: list[str] = Field(default_factory=list)
    """Attempts for which `would_grant` was noted."""
    restating: list[str] = Field(default_factory=list)
    """Racks that have not said yet what they hold."""
    restate_until: datetime | None = None

    @property
    def stop(self) -> Stopped | None:
        return self.fleet or self.stopped


def moved(s: State, slot: Slot, name: str, before: str, after: str, out: list[Decision], text: str = "") -> None:
    """Notes one move of the budget: the ledger's sequence for a slot is `free → granted → begun → free`."""
    said = f"slot of {slot.asked.node}: {before} -> {after}" + (f", {text}" if text else "")
    details = {"node": slot.asked.node, "charged": len(s.slots), "remedy": slot.asked.remedy.value}
    cause = slot.cause().model_copy(update={"policy": s.policy_version})
    out.append(
        Note(OutcomeKind.DECISION, name=name, text=said, before=before, after=after, cause=cause, details=details)
    )


def close(s: State, plan: str, late: int = -1) -> None:
    """Remembers that the plan is over: its asks up to revision `late` (-1: all) are late ones."""
    s.closed[plan] = late
    while len(s.closed) > MAX_CLOSED:
        del s.closed[next(iter(s.closed))]


def free(s: State, node: str, name: str, out: list[Decision], *, late: int = -1, text: str = "") -> None:
    """The slot is no longer charged. `late`: asks of this plan up to that revision are late ones."""
    slot = s.slots.pop(node)
    close(s, slot.asked.plan, late)
    moved(s, slot, name, slot.status.value, FREE, out, text)
