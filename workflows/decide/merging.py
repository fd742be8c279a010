"""Merges the open claims on a node into one need.

Law: a pending remap, a driver update and a maintenance window for one node are one drain, not three.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pydantic import BaseModel

from gpuward.contracts.claims import Claim
from gpuward.contracts.identity import EntityKind
from gpuward.contracts.remedies import HoldClass, Remedy, more_disturbing
from workflows.decide.node_state import OpenPlan, State

PERSON = "person"
"""Claimant name of a drain that a person asked for."""


class Merged(BaseModel):
    """What all open claims together need."""

    remedy: Remedy
    gpus: tuple[str, ...]
    hold: HoldClass
    hold_s: float
    priority: int
    fault_ids: tuple[str, ...]
    fault_classes: tuple[str, ...]
    boot_id: str
    claimants: tuple[str, ...]
    because: str

    @property
    def concerned(self) -> tuple[str, ...]:
        return tuple(gpu_of(name) for name in self.claimants if name.startswith("gpu/"))


def gpu_of(claimant: str) -> str:
    return claimant.partition("/")[2]


def own_claim(s: State) -> Claim | None:
    """What the node claims from itself."""
    if s.seat is None or s.sick.incident is None:
        return None
    return Claim(claimant=s.entity, revision=0, seat=s.seat, **dict(s.sick.need()))


def open_claims(s: State) -> dict[str, Claim]:
    """The claims that may start something now.

    Law: claims of an older boot never start an act; claims of a GPU that has left count for nothing.
    """
    found = {name: claim for name, claim in s.claims.items() if claim.rung is not None and _stands(s, claim)}
    own = own_claim(s)
    if own is not None and own.rung is not None and not s.boots.is_earlier(own.boot_id):
        found[str(s.entity)] = own
    if s.drain_by and s.seat is not None:
        because = f"{s.drain_by} asked to drain it"
        found[PERSON] = Claim(
            claimant=s.entity, revision=0, seat=s.seat, rung=Remedy.DRAIN, priority=2, because=because
        )
    return found


def quarantine_claims(s: State) -> dict[str, Claim]:
    """The claims that keep the node out of service until a person says more."""
    found = {name: claim for name, claim in s.claims.items() if claim.quarantine and _listed(s, claim)}
    own = own_claim(s)
    if own is not None and own.quarantine:
        found[str(s.entity)] = own
    return found


def merge(s: State) -> Merged | None:
    """None: nothing is needed. A quarantine without a plan behind it needs a person, and a slot like every other.

    Law: where one cause needs a person, nothing irreversible is done to the node for another.
    """
    claims = {**open_claims(s), **quarantine_claims(s)}
    if not claims:
        return None
    remedy = reduce(more_disturbing, (_rung(claim) for claim in claims.values()))
    behind = {name: claim for name, claim in claims.items() if _covered(remedy, claim)}
    lead = min(behind.values(), key=lambda claim: (claim.priority, claim.fault_ids))
    resets = [gpu_of(name) for name, claim in behind.items() if claim.rung is Remedy.RESET_GPU]
    held = all(claim.hold is HoldClass.RACK for claim in behind.values())
    return Merged(
        remedy=remedy,
        gpus=tuple(sorted(resets)) if remedy is Remedy.RESET_GPU else (),
        hold=HoldClass.RACK if held else HoldClass.NONE,
        hold_s=max(claim.hold_s for claim in behind.values()),
        priority=lead.priority,
        fault_ids=_joined(claim.fault_ids for claim in behind.values()),
        fault_classes=_joined(claim.fault_classes for claim in behind.values()),
        boot_id=next((claim.boot_id for claim in behind.values() if claim.boot_id), s.boots.current),
        claimants=tuple(sorted(behind)),
        because=lead.because,
    )


def joins(plan: OpenPlan, name: str, claim: Claim) -> bool:
    """Whether an attempt that has started and not yet acted is for this claim too. The child's GPUs are fixed by then."""
    if plan.remedy is Remedy.RESET_GPU and claim.rung is Remedy.RESET_GPU:
        return gpu_of(name) in plan.gpus
    return _covered(plan.remedy, claim)


def _covered(remedy: Remedy, claim: Claim) -> bool:
    """A reboot of the node covers the reset of its GPU; an automatic remedy covers no claim that needs a person."""
    rung = _rung(claim)
    if Remedy.ASK_PERSON in (remedy, rung):
        return remedy is rung
    return rung.rank <= remedy.rank


def _rung(claim: Claim) -> Remedy:
    return claim.rung if claim.rung is not None else Remedy.ASK_PERSON


def _listed(s: State, claim: Claim) -> bool:
    return claim.claimant.kind is not EntityKind.GPU or not s.gpus or claim.claimant.name in s.gpus


def _stands(s: State, claim: Claim) -> bool:
    return _listed(s, claim) and not s.boots.is_earlier(claim.boot_id)


def _joined(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for some in parts for part in some))[:16]
