"""Short ways to make what the console is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.faults import Evidence
from gpuward.contracts.identity import Entity, GpuId, NodeId, PoolId, RackId, Slot
from gpuward.contracts.inventory import GpuSeat, InventoryChanged, NodeInventory
from gpuward.contracts.outcomes import Cause, Outcome, OutcomeKind
from gpuward.contracts.policy import PolicyChanged, PoolPolicy
from gpuward.contracts.seat import Seat

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
UUID = GpuId("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77")
GPU, NODE, RACK = Entity.gpu(UUID), Entity.node("r01-n01"), Entity.rack("r01")
SLOT = Slot("0000:1b:00.0")
EVIDENCE = Evidence(topic="fleet.observations.v1", partition=3, offset=41, text="NVRM: Xid (PCI:0000:1b:00): 79")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def outcome(number: int, what: OutcomeKind, *, entity: Entity = GPU, second: float | None = None, **more) -> Outcome:
    """`number` is its place in its workflow; it happened that many seconds after the start unless said."""
    identity = f"{entity}/1/{number}"
    time = at(number if second is None else second)
    return Outcome(id=identity, entity=entity, time=time, what=what, **more)


def edge(number: int, before: str, after: str, *, entity: Entity = GPU, **more) -> Outcome:
    text = more.pop("text", f"now {after}")
    return outcome(number, OutcomeKind.EDGE, entity=entity, name=after, before=before, after=after, text=text, **more)


def opened(number: int, incident: str = "i1", **more) -> Outcome:
    details = {"incident": incident, "fault_class": "gpu.xid.79"}
    cause = Cause(fault_ids=("f1",), evidence=(EVIDENCE,))
    said = {"name": "opened", "text": "gpu.xid.79: off the bus", "details": details, "cause": cause}
    return outcome(number, OutcomeKind.INCIDENT_OPENED, **(said | more))


def closed(number: int, incident: str = "i1", result: str = "repaired", **more) -> Outcome:
    details = {"incident": incident, "fault_class": "gpu.xid.79"}
    return outcome(
        number, OutcomeKind.INCIDENT_CLOSED, name=result, result=result, text=result, details=details, **more
    )


def seat(node: str = "r01-n01", epoch: int = 100, slot: Slot | None = SLOT) -> Seat:
    return Seat(node=NodeId(node), slot=slot, rack=RackId(node[:3]), pool=PoolId("default"), epoch=epoch)


def stands(entity: Entity, where: Seat, second: float = 0, *, removed: bool = False) -> InventoryChanged:
    return InventoryChanged(entity=entity, seat=where, time=at(second), boot_id="b1", removed=removed)


def inventory(node: str = "r01-n01", second: float = 0, source: str = "agent", **more) -> NodeInventory:
    gpus = (GpuSeat(gpu=UUID, slot=SLOT),)
    return NodeInventory(node=NodeId(node), source=source, time=at(second), rack=RackId(node[:3]), gpus=gpus, **more)


def policy(revision: int = 1, mode: str = "act") -> PolicyChanged:
    pool = PoolPolicy.model_validate({"name": "default", "mode": mode})
    return PolicyChanged(entity=Entity.pool("default"), version="v", revision=revision, pool=pool)


def record(entity: Entity, **more) -> EntityRecord:
    return EntityRecord(entity=entity, entity_kind=entity.kind, **more)


def uuid(number: int) -> str:
    return f"GPU-{number:08x}-0000-4000-8000-000000000000"


def fleet(racks: int = 1, nodes: int = 2, gpus: int = 4, **unwell: str) -> list[EntityRecord]:
    """A fleet of records; `unwell` is node name with `_` for `-` → lifecycle of it and of its first GPU."""
    found: list[EntityRecord] = []
    for rack in (f"r{number:02d}" for number in range(1, racks + 1)):
        found.append(record(Entity.rack(rack), rack=rack))
        for node in (f"{rack}-n{number:02d}" for number in range(1, nodes + 1)):
            lifecycle = unwell.get(node.replace("-", "_"), "healthy")
            found.append(record(Entity.node(node), node=node, rack=rack, pool="default", lifecycle=lifecycle))
            for index in range(gpus):
                name = uuid(len(found))
                own = lifecycle if index == 0 else "healthy"
                slot = f"0000:{index:02x}:00.0"
                found.append(record(Entity.gpu(name), node=node, rack=rack, slot=slot, lifecycle=own, pool="default"))
    return found
