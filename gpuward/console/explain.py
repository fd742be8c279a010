"""What a kernel log says, and what gpuward would do: the live path over a file, without a server and without a clock.

normalise → rules → classify → the GPU's brain on an empty state, in the order of the lines. `protocol.md`, "Explain".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from types import MappingProxyType

from gpuward.contracts.entities import Loaded
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity, EntityKind, GpuId, Slot
from gpuward.contracts.observations import GpuMapped, KernelFaultLogged, Observation, SxidLogged, XidLogged
from gpuward.contracts.policy import Policy
from gpuward.contracts.remedies import Remedy, Severity
from ingest.normalise import KernelLogReader
from streams.explain import faults_of, longest_window, standing
from streams.rules.xid import class_of
from workflows.decide import gpu as brain
from workflows.decide.events import Recalled, Woken


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation and the line that it was read from, counted from 1."""

    line: int
    observation: Observation

    @property
    def fault_class(self) -> str | None:
        """The class of fault that it is, whether or not a rule makes a fault of it yet; None where it is no fault."""
        return fault_class(self.observation)


@dataclass(frozen=True, slots=True)
class Incident:
    """What one entity needs: the faults that share a root, and the first rung of its claim."""

    entity: str
    root: str
    codes: tuple[int, ...]
    severity: Severity
    remedy: Remedy
    because: str
    first_seen: datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer."""

    lines: int
    seen: tuple[Seen, ...]
    incidents: tuple[Incident, ...]


def explain(lines: Sequence[str], policy: Policy, written: datetime) -> Explanation:
    """`written` (aware) is when the log was written: the year of a line that tells none, the time before the first that
    tells one, and what a monotonic prefix counts from.
    """
    boot_id = boot_of(lines)
    seen = tuple(observe(lines, boot_id, written))
    faults = faults_of((item.observation for item in seen), policy, boot_id)
    slots = {
        item.observation.gpu: item.observation.device
        for item in seen
        if isinstance(item.observation, GpuMapped) and item.observation.device is not None
    }
    return Explanation(len(lines), seen, tuple(incidents(faults, slots)))


def boot_of(lines: Iterable[str]) -> str:
    """The boot id of a file: a hash of it."""
    digest = blake2b(digest_size=8)
    for line in lines:
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return f"file-{digest.hexdigest()}"


def observe(lines: Iterable[str], boot_id: str, written: datetime) -> Iterable[Seen]:
    """What each line says. A line without a time has that of the line before it."""
    reader = KernelLogReader(boot_id, boot_time=written)
    now = written
    for number, line in enumerate(lines, 1):
        for observation in reader.feed(line, sequence=number, default_time=now):
            now = observation.time
            yield Seen(number, observation)


def incidents(faults: Sequence[Fault], slots: Mapping[GpuId, Slot] = MappingProxyType({})) -> list[Incident]:
    """What stands at the end, oldest first: an incident per GPU that needs something, and each milder fault by itself.

    `slots`: where the GPUs sit whose UUID a line told.
    """
    by_entity: dict[str, list[Fault]] = {}
    for fault in faults:
        by_entity.setdefault(place(fault, slots), []).append(fault)
    found = [incident for entity, own in by_entity.items() for incident in _of_entity(entity, own)]
    return sorted(found, key=lambda incident: (incident.first_seen, incident.entity, incident.root))


def place(fault: Fault, slots: Mapping[GpuId, Slot]) -> str:
    """The entity as a kernel log can name it: a GPU by its slot, also where its UUID was told."""
    if fault.entity.kind is EntityKind.NODE:
        return "node"
    slot = next((slot for gpu, slot in slots.items() if fault.entity == Entity.gpu(gpu)), None)
    return str(fault.entity) if slot is None else f"gpu/{slot}"


def _of_entity(entity: str, faults: Sequence[Fault]) -> list[Incident]:
    open_ = [fault for fault in standing(faults) if fault.phase != "cleared" or fault.cleared_because == "quiet"]
    acting: dict[str, Fault] = {}
    found: list[Incident] = []
    if entity.startswith("gpu/"):
        state = _decide(Entity(entity), faults)
        ids = {fault.fault_id for fault in state.sick.acting()}
        acting = {fault.fault_id: fault for fault in open_ if fault.fault_id in ids}
        claim, incident = state.claim, state.sick.incident
        if claim is not None and incident is not None and acting:
            found.append(
                Incident(
                    entity=entity,
                    root=incident.root,
                    codes=tuple(dict.fromkeys(code for fault in acting.values() for code in fault.codes)),
                    severity=state.sick.severity(),
                    remedy=claim.rung or Remedy.ASK_PERSON,
                    because=claim.because,
                    first_seen=min(fault.first_seen for fault in acting.values()),
                )
            )
    mild = {fault.fault_class: fault for fault in open_ if fault.fault_id not in acting and _worth_saying(fault)}
    return found + [_mild(entity, fault) for fault in mild.values()]


def _decide(entity: Entity, faults: Sequence[Fault]) -> brain.State:
    """The GPU's brain after all its faults and the longest window, as its actor would run it."""
    now = faults[0].last_seen
    state, _ = brain.decide(brain.born(entity), [Recalled(loaded=Loaded(status="none"))], now)
    for fault in faults:
        now = max(now, fault.last_seen)
        state, _ = brain.decide(state, [fault], now)
    state, _ = brain.decide(state, [Woken()], now + longest_window())
    return state


def _worth_saying(fault: Fault) -> bool:
    """An `info` for which nothing is to be done (a 45 at each aborted job) is an observation and no more."""
    return fault.verdict.remedy is not Remedy.OBSERVE or fault.verdict.severity is not Severity.INFO


def _mild(entity: str, fault: Fault) -> Incident:
    verdict = fault.verdict
    return Incident(
        entity, fault.fault_class, fault.codes, verdict.severity, verdict.remedy, verdict.because, fault.first_seen
    )


_NODE_CODES = frozenset({"machine_check", "oom_kill", "kernel_panic", "kernel_log_gap"})
_CLASSES = {"pcie_aer": "node.pcie.aer"}


def fault_class(observation: Observation) -> str | None:
    """`gpu.xid.79`, `nvswitch.sxid.20034`, `node.pcie.aer`, …"""
    match observation:
        case XidLogged(code=code):
            return class_of(code)
        case SxidLogged(code=code):
            return f"nvswitch.sxid.{code}"
        case KernelFaultLogged(code=code):
            return _CLASSES.get(code) or f"{'node' if code in _NODE_CODES else 'gpu'}.{code}"
        case _:
            return None
