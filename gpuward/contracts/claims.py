"""What climbs and what descends: claims and plans up, tokens down. `protocol.md` of the project names each message.

Claims and availabilities are *levels* with a revision: the receiver keeps the newest, so a repeated or late one is
harmless. An ask has an id (plan, attempt, revision) and the same answer each time.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple

from pydantic import Field

from gpuward.contracts.identity import DomainId, Entity, NodeId, PoolId, RackId
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import HoldClass, Remedy
from gpuward.contracts.seat import Seat


class Token(NamedTuple):
    """A pool guard's grant for one attempt: (guard epoch in ms, n). Never reused."""

    epoch: int
    n: int


class AttemptResult(StrEnum):
    """How an attempt ended. `NO_EFFECT`: the act was accepted and changed nothing, which stops the ladder and asks a person.
    `UNKNOWN`: its answer was lost and its effect was not seen until the deadline. `REFUSED`: nothing was sent.
    """

    REPAIRED = "repaired"
    FAILED = "failed"
    NO_EFFECT = "no_effect"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    QUARANTINED = "quarantined"
    REVOKED = "revoked"


class Claim(Contract):
    """gpu → node: the whole of what it needs now. An empty ladder (rung None) withdraws it."""

    kind: Literal["claim"] = "claim"
    claimant: Entity
    revision: int
    seat: Seat
    rung: Remedy | None = None
    ladder: tuple[Remedy, ...] = ()
    hold: HoldClass = HoldClass.NONE
    hold_s: float = 45
    """How long the rack may keep the plan where `hold` says so."""
    attempts_left: int = 0
    priority: int = 3
    """1 (safety) to 5 (sweeps), as Temporal's priority keys."""
    boot_id: str = ""
    fault_ids: tuple[str, ...] = ()
    fault_classes: tuple[str, ...] = ()
    answered: tuple[str, int] | None = None
    """The newest attempt (plan, attempt) whose end this claim takes into account: how the node knows it was answered."""
    quarantine: bool = False
    """The ladder is used up or a person is needed: keep the node out of service, try nothing more by itself."""
    because: str = ""


class Plan(Contract):
    """node → rack: one merged plan, one at a time. rack → pool guard: the same, as an `Ask`."""

    kind: Literal["plan"] = "plan"
    plan: str
    revision: int
    node: NodeId
    seat: Seat
    boot_id: str
    remedy: Remedy
    attempt: int
    hold: HoldClass = HoldClass.NONE
    hold_s: float = 45
    priority: int = 3
    fault_ids: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    """UUIDs of the GPUs that the remedy is for; empty for a remedy of the whole node."""
    withdrawn: bool = False
    """The need has gone before a token came: forget it."""
    revoked: bool = False
    """rack → pool guard, with `withdrawn`: a rack incident explains it. A token not yet used ends; a slot that was granted
    stays charged, since the node may be cordoned already, until the node withdraws or is handed back."""
    token: Token | None = None
    """node → rack, answering `Restate`: the token that the running attempt holds."""
    restate: str = ""
    """node → rack: the id of the `Restate` that this answers. A late answer to an earlier one says nothing about now."""


class Ask(Contract):
    """rack → pool guard: the plan, and the rack's availability level as of now."""

    kind: Literal["ask"] = "ask"
    plan: Plan
    availability: RackAvailability


class RackAvailability(Contract):
    """rack → pool guard: a level. Members never heard of count as unavailable."""

    kind: Literal["availability"] = "availability"
    rack: RackId
    pool: PoolId
    revision: int
    members: tuple[NodeId, ...] = ()
    unavailable: dict[NodeId, str] = Field(default_factory=dict)
    """Node → cause."""
    domains: dict[NodeId, tuple[DomainId, ...]] = Field(default_factory=dict)
    restated: bool = False
    """An answer to `Restate`."""
    restate: str = ""
    """Its id."""
    plans: tuple[Plan, ...] = ()
    tokens: dict[NodeId, tuple[str, int, Token]] = Field(default_factory=dict)
    """Restated only: node → (plan, attempt, token) of what the rack's nodes hold."""


class Held(Contract):
    """rack → node: the plan waits for an explanation until then."""

    kind: Literal["held"] = "held"
    plan: str
    attempt: int
    until: datetime


class Explained(Contract):
    """rack → node: a rack incident explains the plan away; a token not yet acted on is revoked."""

    kind: Literal["explained"] = "explained"
    plan: str
    attempt: int
    incident: str


class Limits(Contract):
    """The typed limits of policy that a node and its remediation work under: everything that they know of policy."""

    mode: Literal["watch", "act"] = "watch"
    act_within_s: float = 900
    observe_s: float = 1800
    """How long to look for the effect of an act (new boot id, new driver session)."""
    evict_deadline_s: float = 900
    remediation_deadline_s: float = 7200
    person_deadline_s: float = 86400
    drain_mode: Literal["immediate", "allow_completion", "deadline"] = "deadline"
    validate_level: int = 1
    attempts: int = 3
    dry_run: bool = False


class Granted(Contract):
    """pool guard → node. `not_after` is when the right to act ends."""

    kind: Literal["granted"] = "granted"
    plan: str
    attempt: int
    revision: int
    token: Token
    not_after: datetime
    limits: Limits
    guard: Entity


class Queued(Contract):
    """pool guard → node: no budget now; it will come, or the node asks again."""

    kind: Literal["queued"] = "queued"
    plan: str
    attempt: int
    reason: str


class Denied(Contract):
    """pool guard → node: not under this policy (`watch`, no such pool, another plan is open). `open_plan` is to be adopted."""

    kind: Literal["denied"] = "denied"
    plan: str
    attempt: int
    reason: str
    open_plan: str | None = None
    open_attempt: int | None = None
    """The newest attempt of the open plan that the guard knows of."""


class AttemptEnded(Contract):
    """node → claimant, which owns the ladder and answers with a newer claim."""

    kind: Literal["attempt_ended"] = "attempt_ended"
    plan: str
    attempt: int
    remedy: Remedy
    result: AttemptResult
    node: NodeId
    ended: datetime
    boot_id: str = ""
    why: str = ""


class Approved(Contract):
    """node → claimant in quarantine: a person said yes. Its next rung may be tried; where none is left, it is accepted as
    it is. Answered with a newer claim.
    """

    kind: Literal["approved"] = "approved"
    plan: str
    attempt: int
    person: str


class LifecycleMoved(Contract):
    """node → gpu: where the repair of your node has got to (`draining`, `repairing`, `validating`)."""

    kind: Literal["lifecycle"] = "lifecycle"
    phase: str
    plan: str
    attempt: int


class Available(Contract):
    """node → rack: a level, on change. `handed_back` names the plan whose slot is free again."""

    kind: Literal["available"] = "available"
    node: NodeId
    revision: int
    available: bool
    cause: str = ""
    handed_back: str | None = None
    pool: PoolId | None = None
    """Of the node's seat, for a rack that does not know the node yet."""
    idle: bool = False
    """Answering `Restate`: no plan is open on this node."""
    restate: str = ""
    """The id of the `Restate` that this answers."""


class SlotReleased(Contract):
    """rack → pool guard: the node validated and was handed back; its slot is no longer charged."""

    kind: Literal["released"] = "released"
    node: NodeId
    plan: str


class Report(Contract):
    """child → node: a step that the node must know of, and the end."""

    kind: Literal["report"] = "report"
    plan: str
    attempt: int
    step: str
    """`drained`, `acting`, `validating`, `waiting_for_token`, `ended`."""
    result: AttemptResult | None = None
    boot_id: str = ""
    why: str = ""
    acted: bool = False
    """Whether the irreversible act may have happened."""


class TokenRenewed(Contract):
    """guard → node → child: after a stop was lifted, the same attempt may act under this token."""

    kind: Literal["token_renewed"] = "token_renewed"
    plan: str
    attempt: int
    token: Token
    not_after: datetime


class Restate(Contract):
    """Say again what you hold. pool guard → rack: answered with a restated `RackAvailability`, after rack → node (answered
    with the plan and its token, or the availability). node → gpu, after the node lost its memory: answered with the claim.
    """

    kind: Literal["restate"] = "restate"
    guard: Entity
    id: str


class Register(Contract):
    """pool guard → pool/fleet: I exist. Answered with `FleetStop` where the fleet is stopped."""

    kind: Literal["register"] = "register"
    pool: PoolId


class FleetStop(Contract):
    """pool/fleet → pool guard: stop or resume; answered with `FleetStopped`."""

    kind: Literal["fleet_stop"] = "fleet_stop"
    revision: int
    stopped: bool
    person: str = ""
    reason: str = ""


class FleetStopped(Contract):
    """pool guard → pool/fleet: done, and these acts had already begun."""

    kind: Literal["fleet_stopped"] = "fleet_stopped"
    pool: PoolId
    revision: int
    begun: tuple[str, ...] = ()


Ask.model_rebuild()
