"""What people ask by update, without Kafka, and what the interlock asks of a pool guard."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from gpuward.contracts.claims import Token
from gpuward.contracts.identity import NodeId
from gpuward.contracts.model import Contract


class Stop(Contract):
    """`stop` of a pool guard: once acknowledged, no irreversible act begins."""

    person: str
    reason: str = ""


class Resume(Contract):
    """`resume` of a pool guard."""

    person: str
    reason: str = ""


class StopAnswer(Contract):
    """The acts that had begun before the stop was acknowledged, as `remediation/<node>/<plan>/<attempt>`."""

    stopped: bool
    begun: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()


class WriteOff(Contract):
    """`write_off` of a pool guard: a person frees the slot of a node that will not come back by itself."""

    person: str
    node: NodeId
    reason: str = ""


class Begin(Contract):
    """The interlock's last word before an act. `act` is the action's name: one attempt begins each action at most once."""

    node: NodeId
    plan: str
    attempt: int
    token: Token
    boot_id: str
    act: str


class BeginAnswer(Contract):
    """`refused` means that nothing may be sent; `reason` starts with `stop`, `token`, `deadline`, `amnesia`, `again`, …"""

    verdict: Literal["begun", "refused"]
    reason: str = ""


class Approve(Contract):
    """`approve` of a node actor names plan and attempt: the plan's next rung may be tried."""

    person: str
    plan: str
    attempt: int
    reason: str = ""


class Reject(Contract):
    """`reject` of a node actor: the asked remedy is not wanted; the node is handed back or kept out, as it was asked."""

    person: str
    plan: str
    attempt: int
    reason: str = ""


class PersonAnswer(Contract):
    """What became of an approval or rejection."""

    accepted: bool
    text: str = ""


class PendingQuestion(Contract):
    """What a node waits for a person to say; from the query `question`."""

    plan: str
    attempt: int
    text: str
    deadline: datetime
    default: str
