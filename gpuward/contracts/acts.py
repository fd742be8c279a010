"""Requests and results of the activities in `actions.py`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from gpuward.contracts.claims import Limits, Token
from gpuward.contracts.identity import Entity, NodeId
from gpuward.contracts.messages import Message
from gpuward.contracts.model import Contract
from gpuward.contracts.outcomes import Outcome
from gpuward.contracts.seat import Seat


class NodeAct(Contract):
    """What every act on a node says. `gpus` are UUIDs; empty: the whole node.

    Law: an irreversible act carries plan, attempt, token, boot id and `not_after`, all checked immediately before the call.
    """

    node: NodeId
    seat: Seat
    plan: str
    attempt: int
    boot_id: str
    gpus: tuple[str, ...] = ()
    token: Token | None = None
    not_after: datetime | None = None
    guard: Entity | None = None
    limits: Limits = Limits()
    fault_classes: tuple[str, ...] = ()
    ordered_by: str = ""
    """The person who ordered it. No condition has to stand for it, and a cordon is theirs to make in a watched pool too."""
    whole_node: bool = False
    """The remedy is of the whole node: `gpus` only say where the condition is proven, and all of the node is validated."""


class ActResult(Contract):
    """`done`: it was accepted. `refused`: nothing was sent. `unknown`: it may have happened; observe, never re-issue."""

    result: Literal["done", "refused", "unknown"]
    reason: str = ""
    details: dict[str, Any] = Field(default_factory=dict)
    declined: bool = False
    """With `done`: the machine answered that it did not do it (GPU lost, in use). There is no effect to look for."""


class Proof(Contract):
    """`node.recheck`: whether the condition stands now, on this GPU, under this boot, and the address is proven both ways."""

    proven: bool
    reason: str = ""
    boot_id: str = ""
    sessions: dict[str, str] = Field(default_factory=dict)
    """GPU UUID → driver session before the act."""
    gone: bool = False
    """The condition no longer stands (cleared by itself, or a newer boot): there is nothing to repair."""


class CordonResult(Contract):
    """`already` names another owner whose cordon was there before; ours stands beside it and theirs is never undone."""

    result: Literal["done", "refused"]
    already: str = ""
    reason: str = ""


class AwaitSession(Contract):
    """What to look for after an act: a new boot id, or a new driver session on each of these GPUs."""

    act: NodeAct
    want: Literal["boot", "session", "power"]
    before_boot_id: str
    before_sessions: dict[str, str] = Field(default_factory=dict)
    deadline: datetime


class SessionSeen(Contract):
    """`seen` false: the deadline came first."""

    seen: bool
    boot_id: str = ""
    sessions: dict[str, str] = Field(default_factory=dict)
    reason: str = ""


class Validation(Contract):
    """`node.validate`. Law: what could not be measured did not pass."""

    passed: bool
    boot_id: str = ""
    failed: tuple[str, ...] = ()
    """Names of the checks that failed or could not be measured."""
    reason: str = ""


class EvidenceBundle(Contract):
    """`evidence.collect`: where the logs and dumps are kept."""

    reference: str = ""
    text: str = ""


class PersonAsked(Contract):
    """`notify.person`."""

    entity: Entity
    plan: str
    attempt: int
    text: str
    deadline: datetime | None = None
    default: str = ""


class Append(Contract):
    """`ledger.append`: in order, each acknowledged by Kafka before the answer."""

    outcomes: tuple[Outcome, ...]


class LoadRequest(Contract):
    """`records.load`."""

    entity: Entity


class SignalRequest(Contract):
    """`actor.signal_with_start`: the message goes to the actor even where it does not exist yet."""

    entity: Entity
    messages: tuple[Message, ...]


class Nothing(Contract):
    """An answer that says only that it is done."""
