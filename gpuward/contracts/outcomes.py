"""What was decided and done: the ledger's records. With them *why* and *why not* can be answered for any past time."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from gpuward.contracts.faults import Evidence
from gpuward.contracts.identity import Entity
from gpuward.contracts.model import Contract


class OutcomeKind(StrEnum):
    """What a ledger record is about."""

    BORN = "born"
    RESEATED = "reseated"
    EDGE = "edge"
    """A lifecycle edge: `before` → `after`."""
    INCIDENT_OPENED = "incident_opened"
    INCIDENT_CLOSED = "incident_closed"
    RECORDED = "recorded"
    """Seen, and nothing is to be done about it."""
    DECISION = "decision"
    """Claimed, planned, held, explained, granted, queued, denied, overdue, written off, …: `name` says which."""
    STEP = "step"
    """A remediation step ended: `name` is the step, `result` done, refused, unknown, failed or undone."""
    ACT = "act"
    """Something was asked of the world: `name` is the action."""
    PERSON_ASKED = "person_asked"
    PERSON_SAID = "person_said"
    STOP = "stop"
    ALARM = "alarm"
    CHECKPOINT = "checkpoint"


class Cause(Contract):
    """Why: fault ids, evidence, policy version, plan, attempt, token, workflow and run."""

    fault_ids: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    policy: str = ""
    plan: str | None = None
    attempt: int | None = None
    token: tuple[int, int] | None = None
    message: str | None = None
    workflow_id: str = ""
    run_id: str = ""


class Outcome(Contract):
    """One record per decision, step and effect. `id` is deterministic (workflow, run, number), so an append can be repeated."""

    kind: Literal["outcome"] = "outcome"
    id: str
    entity: Entity
    time: datetime
    what: OutcomeKind
    name: str = ""
    before: str | None = None
    after: str | None = None
    result: str | None = None
    text: str = ""
    """One sentence for people."""
    cause: Cause = Cause()
    seat: dict[str, Any] = Field(default_factory=dict)
    details: dict[str, Any] = Field(default_factory=dict)
    checkpoint: dict[str, Any] | None = None
    """The actor's own durable state at this moment (under 20 KB): what it reloads when it has lost its history."""

    @property
    def event_type(self) -> str:
        return f"gpuward.outcome.{self.what}"
