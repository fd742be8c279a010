"""What a brain decides. A shell turns each into a command that commits together with the new state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuward.contracts.identity import Entity
from gpuward.contracts.messages import Message
from gpuward.contracts.model import Contract
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.contracts.remediation import RemediationInput


@dataclass(frozen=True, slots=True)
class Tell:
    """Deliver a message to another actor, guard or running remediation (an external signal; started where missing)."""

    to: Entity
    message: Message


@dataclass(frozen=True, slots=True)
class Note:
    """A ledger record. The shell gives it its id, time, run and the checkpoint."""

    what: OutcomeKind
    name: str = ""
    text: str = ""
    before: str | None = None
    after: str | None = None
    result: str | None = None
    cause: Cause = field(default_factory=Cause)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartRemediation:
    """Start the child of one attempt; its id is `remediation/<node>/<plan>/<attempt>` and it can be started only once."""

    request: RemediationInput


@dataclass(frozen=True, slots=True)
class Perform:
    """Run an action of the table; its answer comes back as the event `Performed` with the same `tag`."""

    action: str
    request: Contract
    tag: str


@dataclass(frozen=True, slots=True)
class LookAtRemediation:
    """The deadline of an open remediation has passed, or state was lost: ask whether it still runs; the answer is `Looked`."""

    remediation: Entity


Decision = Tell | Note | StartRemediation | Perform | LookAtRemediation
