"""What ails one entity: its open faults, and the incident that they are. Shared by the GPU's and the node's brain.

One entity has at most one open incident: faults of different roots on it join while it is open, because one repair is
one disturbance for all of them (a 48, a 63 and a 154 within a second are one incident).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from gpuward.contracts.claims import AttemptResult
from gpuward.contracts.faults import Evidence, Fault, Revision
from gpuward.contracts.outcomes import Cause
from gpuward.contracts.remedies import HoldClass, Remedy, Severity, Verdict
from workflows.decide import ladder

MAX_FAULTS = 12
MAX_SEEN = 64
MAX_OFFENCES = 32
MAX_ANSWERED = 16
EVIDENCE_KEPT = 3


class OpenFault(BaseModel):
    """The part of a fault that is worked with; small, since a state holds several."""

    fault_id: str
    fault_class: str
    revision: Revision
    verdict: Verdict
    boot_id: str
    last_seen: datetime
    codes: tuple[int, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    stale: bool = False
    """Of an earlier boot or seat: recorded, never acted on."""
    repaired: datetime | None = None
    """It was repaired at this time; seen again later, the repair did not hold."""

    @classmethod
    def of(cls, fault: Fault, *, stale: bool) -> OpenFault:
        return cls(
            fault_id=fault.fault_id,
            fault_class=fault.fault_class,
            revision=fault.revision,
            verdict=fault.verdict,
            boot_id=fault.boot_id,
            last_seen=fault.last_seen,
            codes=fault.codes[-8:],
            evidence=fault.evidence[:EVIDENCE_KEPT],
            stale=stale,
        )

    @property
    def acts(self) -> bool:
        """Whether it asks for something that disturbs, now."""
        return self.verdict.remedy.disturbs and not self.stale and self.repaired is None


class Incident(BaseModel):
    """The open faults of one entity, worked on as one, and how far up the ladder that has got."""

    id: str
    opened: datetime
    root: str
    """The class of the fault that leads."""
    fault_ids: tuple[str, ...] = ()
    """Every fault that joined it, newest last."""
    attempts: int = 0
    """Attempts that count: refused and revoked ones do not."""
    extra: int = 0
    """Attempts granted by a person beyond the policy's."""
    refusals: int = 0
    tried: Remedy | None = None
    """The most disturbing automatic rung that did not help."""
    asked: bool = False
    quarantined: str = ""
    """Why nothing more is tried by itself; empty: the ladder goes on."""
    acted: bool = False
    """Whether a repair may have been carried out: then only a validation, or a person, ends the incident."""


class Offence(BaseModel):
    """One attempt in the entity's history."""

    fault_class: str
    remedy: Remedy
    result: AttemptResult
    ended: datetime


class Need(BaseModel):
    """What the incident asks for, as a claim says it. Rung None and no quarantine: nothing."""

    rung: Remedy | None = None
    ladder: tuple[Remedy, ...] = ()
    hold: HoldClass = HoldClass.NONE
    hold_s: float = 45
    attempts_left: int = 0
    priority: int = 3
    boot_id: str = ""
    fault_ids: tuple[str, ...] = ()
    fault_classes: tuple[str, ...] = ()
    quarantine: bool = False
    because: str = ""


class Sickness(BaseModel):
    """Faults, incident and history of one entity."""

    faults: dict[str, OpenFault] = Field(default_factory=dict)
    """By fault id: open, or repaired and not yet cleared."""
    seen: dict[str, Revision] = Field(default_factory=dict)
    """Newest revision per class. Law: what is not newer is ignored, so order can never hurt."""
    incident: Incident | None = None
    closed: Incident | None = None
    """The last incident that a repair closed: where it goes on when the repair did not hold."""
    answered: list[tuple[str, int]] = Field(default_factory=list)
    """Attempts (plan, attempt) whose end was taken in, newest last."""
    offences: list[Offence] = Field(default_factory=list)

    def acting(self) -> list[OpenFault]:
        """The faults that the incident is made of, oldest first."""
        return [fault for fault in self.faults.values() if fault.acts]

    def severity(self) -> Severity:
        """The worst of the acting faults."""
        return max((f.verdict.severity for f in self.acting()), key=lambda s: s.rank, default=Severity.INFO)

    def cause(self, **more: object) -> Cause:
        """Why: the faults of the incident, open or closed last, with their evidence and policy."""
        incident = self.incident or self.closed
        ids = incident.fault_ids if incident is not None else ()
        faults = [self.faults[fault_id] for fault_id in ids if fault_id in self.faults]
        said = {
            "fault_ids": ids,
            "evidence": tuple(line for fault in faults for line in fault.evidence)[:8],
            "policy": faults[-1].verdict.policy if faults else "",
        }
        return Cause.model_validate({**said, **more})

    def attempts_left(self) -> int:
        """What the leading verdict grants, less what was used."""
        faults = self.acting()
        if self.incident is None or not faults:
            return 0
        granted = ladder.leading([fault.verdict for fault in faults]).attempts + self.incident.extra
        return max(0, granted - self.incident.attempts)

    def rung(self) -> Remedy | None:
        """The rung to try now; None when nothing is to be tried."""
        verdicts = [fault.verdict for fault in self.acting()]
        if self.incident is None or self.incident.quarantined or not verdicts:
            return None
        return ladder.next_rung(verdicts, self.incident.tried, asked=self.incident.asked)

    def beyond(self) -> tuple[Remedy, ...]:
        """The automatic rungs that are left, mildest first: what a person may approve."""
        verdicts = [fault.verdict for fault in self.acting()]
        return (
            tuple(ladder.automatic_rungs(verdicts, self.incident.tried if self.incident else None)) if verdicts else ()
        )

    def need(self) -> Need:
        """What is needed now. A level: it says everything, and the same state says the same."""
        if self.incident is None:
            return Need()
        faults = self.acting()
        lead = ladder.leading([fault.verdict for fault in faults]) if faults else None
        said: dict[str, Any] = {
            "boot_id": faults[-1].boot_id if faults else "",
            "fault_ids": tuple(sorted(fault.fault_id for fault in faults)),
            "fault_classes": tuple(sorted({fault.fault_class for fault in faults})),
            "ladder": self.beyond(),
        }
        if self.incident.quarantined:
            return Need.model_validate(
                {**said, "quarantine": True, "because": self.incident.quarantined, "priority": 2}
            )
        held = bool(faults) and all(fault.verdict.hold is HoldClass.RACK for fault in faults)
        said |= {
            "rung": self.rung(),
            "hold": HoldClass.RACK if held else HoldClass.NONE,
            "hold_s": max((fault.verdict.hold_s for fault in faults), default=45),
            "attempts_left": self.attempts_left(),
            "priority": 2 if self.severity() is Severity.CRITICAL else 3,
            "because": lead.because if lead else "",
        }
        return Need.model_validate(said)
