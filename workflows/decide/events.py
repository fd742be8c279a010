"""What a brain is told: messages from outside, and the answers that its own shell got for it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gpuward.contracts.entities import Loaded
from gpuward.contracts.identity import Entity
from gpuward.contracts.messages import Message
from gpuward.contracts.model import Contract
from gpuward.contracts.updates import Approve, Reject, Resume, Stop, WriteOff


class Recalled(Contract):
    """`records.load` answered. Until this came with `none` or `found`, the actor is amnesiac."""

    kind: Literal["recalled"] = "recalled"
    loaded: Loaded


class Performed(Contract):
    """An action that the brain asked for has ended. `ok` False: it failed for good, `reason` says why."""

    kind: Literal["performed"] = "performed"
    tag: str
    ok: bool
    result: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""


class Looked(Contract):
    """Whether a remediation still runs (`running`), has ended (`closed`) or never was (`missing`)."""

    kind: Literal["looked"] = "looked"
    remediation: Entity
    status: Literal["running", "closed", "missing"]


class PersonSaid(Contract):
    """An update that was accepted."""

    kind: Literal["person_said"] = "person_said"
    said: Approve | Reject | Stop | Resume | WriteOff
    verb: str


class Woken(Contract):
    """A deadline passed. Brains look at `now` on every call; this only gives them one."""

    kind: Literal["woken"] = "woken"


Event = Message | Recalled | Performed | Looked | PersonSaid | Woken
