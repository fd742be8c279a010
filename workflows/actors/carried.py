"""What an actor takes with it through continue-as-new: its brain's state, and everything it has begun and not ended."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gpuward.contracts.identity import Entity
from gpuward.contracts.model import Contract
from gpuward.contracts.outcomes import Outcome
from gpuward.contracts.remediation import RemediationInput


class OpenPerform(Contract):
    """An action that the brain asked for. Started again by the next run: actors run only actions that may be repeated."""

    action: str
    request: dict[str, Any]
    tag: str


class Carried(Contract):
    """`ActorInput.state`. Law: no continue-as-new while something is open that the successor would not know of."""

    version: int = 1
    epoch_ms: int
    """Start of the first run of this chain: makes ids of outcomes unique over resurrections."""
    amnesiac: bool = True
    brain: dict[str, Any] = Field(default_factory=dict)
    number: int = 0
    """Outcomes numbered so far."""
    outbox: tuple[Outcome, ...] = ()
    dropped: int = 0
    lanes: dict[Entity, list[dict[str, Any]]] = Field(default_factory=dict)
    """Receiver → messages not known to be delivered."""
    performs: tuple[OpenPerform, ...] = ()
    starts: tuple[RemediationInput, ...] = ()
    looks: tuple[Entity, ...] = ()
    known: tuple[Entity, ...] = ()
    """Remediations that were certainly started, newest last."""
