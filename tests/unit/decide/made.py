"""Builders for the brains' tests: one node `n1` with GPUs, in rack `r1` and pool `p1`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gpuward.contracts.claims import Limits
from gpuward.contracts.entities import EntityRecord, Loaded
from gpuward.contracts.faults import Evidence, Fault, Revision, fault_id
from gpuward.contracts.identity import DomainId, Entity, GpuId, NodeId, PoolId, RackId, Slot
from gpuward.contracts.inventory import GpuSeat, InventoryChanged
from gpuward.contracts.policy import Budget, PolicyChanged, PoolPolicy
from gpuward.contracts.remedies import HoldClass, Remedy, Severity, Verdict
from gpuward.contracts.seat import Address, Seat
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.events import Event, Recalled

T0 = datetime(2026, 1, 1, tzinfo=UTC)
R = Remedy
FRESH = Recalled(loaded=Loaded(status="none"))

LADDERS: dict[int, tuple[Remedy, ...]] = {
    79: (R.REBOOT_NODE, R.POWER_CYCLE_NODE),
    48: (R.RESET_GPU, R.REBOOT_NODE),
    63: (R.RESET_GPU, R.REBOOT_NODE),
    154: (R.RESET_GPU, R.REBOOT_NODE),
    31: (R.RESTART_APP,),
    999: (R.ASK_PERSON,),
}


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def gpu_id(n: int) -> GpuId:
    return GpuId(f"GPU-{n:08x}-0000-0000-0000-000000000000")


def gpu(n: int) -> Entity:
    return Entity.gpu(gpu_id(n))


def seat(
    node: str = "n1", slot: int | None = None, *, rack: str | None = "r1", epoch: int = 1, proven: bool = True
) -> Seat:
    return Seat(
        node=NodeId(node),
        slot=None if slot is None else Slot(f"0000:{slot:02x}:00.0"),
        rack=RackId(rack) if rack else None,
        domain=DomainId(f"{node}-hgx"),
        pool=PoolId("p1"),
        epoch=epoch,
        address=Address(provider="simulated", smbios_uuid="u-1") if proven else Address(),
    )


def inventory(
    entity: Entity, where: Seat, *, t: float = 0, boot: str = "b1", gpus: tuple[int, ...] = (), removed: bool = False
) -> InventoryChanged:
    seats = tuple(GpuSeat(gpu=gpu_id(n), slot=Slot(f"0000:{n:02x}:00.0"), domain=where.domain) for n in gpus)
    return InventoryChanged(entity=entity, seat=where, time=at(t), boot_id=boot, gpus=seats, removed=removed)


def verdict(ladder: tuple[Remedy, ...], **more: Any) -> Verdict:
    disturbs = ladder[0].disturbs
    severity = Severity.CRITICAL if disturbs else Severity.WARNING
    return Verdict(
        **{"severity": severity, "ladder": ladder, "because": "as the catalogue says", "policy": "v1", **more}
    )


def fault(
    entity: Entity,
    name: str | int,
    *,
    t: float = 1,
    phase: str = "raised",
    offset: int = 1,
    boot: str = "b1",
    where: Seat | None = None,
    episode: float | None = None,
    ladder: tuple[Remedy, ...] | None = None,
    attempts: int = 3,
    hold: HoldClass = HoldClass.NONE,
    children: tuple[Entity, ...] = (),
    severity: Severity | None = None,
) -> Fault:
    """`name` is an Xid or a fault class; `offset` orders its revisions, `episode` when it started."""
    started = t if episode is None else episode
    fault_class = f"gpu.xid.{name}" if isinstance(name, int) else name
    rungs = ladder or LADDERS.get(name if isinstance(name, int) else 0, (R.ASK_PERSON,))
    more = {"severity": severity} if severity is not None else {}
    ms = int(at(started).timestamp() * 1000)
    return Fault(
        phase=phase,  # type: ignore[arg-type]
        fault_id=fault_id(entity, fault_class, boot, ms),
        revision=Revision(1, ms, offset, 0),
        entity=entity,
        seat=where or seat(slot=1),
        fault_class=fault_class,
        verdict=verdict(rungs, attempts=attempts, hold=hold, **more),
        first_seen=at(started),
        last_seen=at(t),
        boot_id=boot,
        codes=(name,) if isinstance(name, int) else (),
        evidence=(Evidence(topic="fleet.observations.v1", partition=0, offset=offset, text=f"Xid {name}"),),
        children=children,
    )


def policy(
    revision: int = 1, *, mode: str = "act", limits: dict[str, Any] | None = None, **budget: Any
) -> PolicyChanged:
    rules = Budget(**{"concurrent": 1, "per_rack": 1, "per_domain": 1, "floor_pct": 0, **budget})
    limit = Limits(mode=mode, **(limits or {}))  # type: ignore[arg-type]
    pool = PoolPolicy(name=PoolId("p1"), mode=mode, budget=rules, limits=limit)  # type: ignore[arg-type]
    return PolicyChanged(entity=Entity.pool("p1"), version=f"v{revision}", revision=revision, pool=pool)


def found(entity: Entity, state: Any) -> Recalled:
    record = EntityRecord(entity=entity, entity_kind=entity.kind, state=state.model_dump(mode="json"))
    return Recalled(loaded=Loaded(status="found", record=record))


class Actor:
    """One brain with its state, told events one activation at a time."""

    def __init__(self, brain: Any, entity: Entity, *, fresh: bool = True) -> None:
        self.brain, self.entity = brain, entity
        self.state = brain.born(entity)
        self.out: list[Decision] = []
        self.notes: list[Note] = []
        if fresh:
            self.told(FRESH, t=0)

    def told(self, *events: Event, t: float) -> list[Decision]:
        before = self.state.model_dump_json()
        state, self.out = self.brain.decide(self.state, events, at(t))
        assert self.state.model_dump_json() == before, "a brain never changes its input state"
        self.state = type(state).model_validate_json(state.model_dump_json())
        self.notes += [decision for decision in self.out if isinstance(decision, Note)]
        return self.out

    def said(self, kind: type[Any], to: Entity | None = None) -> list[Any]:
        tells = [decision for decision in self.out if isinstance(decision, Tell)]
        return [tell.message for tell in tells if isinstance(tell.message, kind) and to in (None, tell.to)]

    def edges(self) -> list[str]:
        notes = [note for note in self.notes if note.what == "edge"]
        return [notes[0].before or ""] + [note.after or "" for note in notes] if notes else []

    def noted(self, name: str) -> list[Note]:
        return [note for note in self.notes if note.name == name]
