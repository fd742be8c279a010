"""The fleet that the chain is measured on: where each GPU stands, and the first messages of every actor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gpuward.contracts.claims import Limits
from gpuward.contracts.faults import Evidence, Fault, Revision, fault_id
from gpuward.contracts.identity import DomainId, Entity, GpuId, NodeId, PoolId, RackId, Slot
from gpuward.contracts.inventory import GpuSeat, InventoryChanged
from gpuward.contracts.model import Contract
from gpuward.contracts.policy import Budget, PolicyChanged, PoolPolicy
from gpuward.contracts.remedies import Remedy, Severity, Verdict
from gpuward.contracts.seat import Address, Seat

BOOT = "5f0c1c9e-52c4-4f0e-9a3c-2f1f6d9e7b10"
PLENTY = 10_000
_CLASS = "gpu.xid.48"
_EPISODE_MS = 1_750_000_000_000


class Place(NamedTuple):
    """One GPU's place. Each place fails at most once in a run, so that no fault meets an incident that is open."""

    rack: int
    node: int
    gpu: int

    @property
    def uuid(self) -> GpuId:
        return GpuId(f"GPU-{self.rack:08x}-{self.node:04x}-{self.gpu:04x}-0000-000000000000")

    @property
    def node_name(self) -> NodeId:
        return NodeId(f"r{self.rack:02d}-n{self.node:02d}")

    @property
    def actors(self) -> tuple[Entity, Entity, Entity, Entity]:
        """GPU, node, rack and pool guard."""
        rack = f"r{self.rack:02d}"
        return Entity.gpu(self.uuid), Entity.node(self.node_name), Entity.rack(rack), Entity.pool(f"p-{rack}")

    def seat(self, *, of_node: bool = False) -> Seat:
        rack = f"r{self.rack:02d}"
        return Seat(
            node=self.node_name,
            slot=None if of_node else _slot(self.gpu),
            rack=RackId(rack),
            domain=DomainId(f"{self.node_name}-hgx"),
            pool=PoolId(f"p-{rack}"),
            epoch=_EPISODE_MS - 1,
            address=Address(provider="simulated", bmc=f"bmc-{self.node_name}", smbios_uuid=f"smbios-{self.node_name}"),
        )


@dataclass(frozen=True)
class Fleet:
    """Racks with a pool each."""

    racks: int
    nodes: int
    """In each rack."""
    gpus: int
    """In each node."""

    def places(self) -> list[Place]:
        """Every GPU; neighbours in this list stand in different racks, and share a node as late as possible."""
        return [
            Place(rack, node, gpu)
            for gpu in range(self.gpus)
            for node in range(self.nodes)
            for rack in range(self.racks)
        ]

    def births(self) -> Iterator[tuple[Entity, list[dict[str, Any]]]]:
        """Actor → the messages that it is born by: policy for the guards, inventory for the others."""
        now = datetime.now(UTC)
        for rack in range(self.racks):
            _, _, rack_entity, pool = Place(rack, 0, 0).actors
            yield pool, _dump(_policy(pool))
            nodes = [Place(rack, node, 0) for node in range(self.nodes)]
            yield rack_entity, _dump(*(self._inventory(rack_entity, node, now) for node in nodes))
            for node in nodes:
                yield node.actors[1], _dump(self._inventory(node.actors[1], node, now))
        for place in self.places():
            gpu = place.actors[0]
            yield gpu, _dump(InventoryChanged(entity=gpu, seat=place.seat(), time=now, boot_id=BOOT))

    def _inventory(self, entity: Entity, node: Place, now: datetime) -> InventoryChanged:
        gpus = tuple(
            GpuSeat(gpu=node._replace(gpu=n).uuid, slot=_slot(n), domain=DomainId(f"{node.node_name}-hgx"))
            for n in range(self.gpus)
        )
        return InventoryChanged(entity=entity, seat=node.seat(of_node=True), time=now, boot_id=BOOT, gpus=gpus)


def fault(place: Place, number: int) -> dict[str, Any]:
    """What the bridge brings for 48 + 63 + 154: a message of the size that it has in life, for a reset of this GPU."""
    gpu, now = place.actors[0], datetime.now(UTC)
    lines = (
        f"NVRM: Xid (PCI:{_slot(place.gpu)}): 48, pid='<unknown>', name=<unknown>, DBE (double bit error)",
        f"NVRM: Xid (PCI:{_slot(place.gpu)}): 63, Row Remapper: New row marked for remapping, reset gpu to activate.",
        f"NVRM: Xid (PCI:{_slot(place.gpu)}): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
    )
    raised = Fault(
        phase="raised",
        fault_id=fault_of(place),
        revision=Revision(_EPISODE_MS - 1, _EPISODE_MS, number, 0),
        entity=gpu,
        seat=place.seat(),
        fault_class=_CLASS,
        verdict=Verdict(
            severity=Severity.CRITICAL,
            ladder=(Remedy.RESET_GPU, Remedy.REBOOT_NODE, Remedy.ASK_PERSON),
            because="An uncorrectable memory error with a row remap; drain and reset apply the remap.",
            policy="0123456789ab",
        ),
        first_seen=now,
        last_seen=now,
        count=3,
        boot_id=BOOT,
        session="1750000000",
        codes=(48, 63, 154),
        recovery_action=4,
        evidence=tuple(
            Evidence(topic="fleet.observations.v1", partition=place.node % 12, offset=number + i, text=text)
            for i, text in enumerate(lines)
        ),
    )
    source = {"topic": "fleet.faults.v1", "partition": place.node % 12, "offset": number}
    return raised.model_dump(mode="json") | {"_source": source}


def fault_of(place: Place) -> str:
    """Id of the one fault of this place."""
    return fault_id(place.actors[0], _CLASS, BOOT, _EPISODE_MS)


def _policy(pool: Entity) -> PolicyChanged:
    budget = Budget(concurrent=PLENTY, per_rack=PLENTY, per_domain=PLENTY, floor_pct=0)
    policy = PoolPolicy(name=PoolId(pool.name), mode="act", budget=budget, limits=Limits(mode="act"))
    return PolicyChanged(entity=pool, version="0123456789ab", revision=1, pool=policy)


def _slot(gpu: int) -> Slot:
    return Slot(f"0000:{0x1B + gpu:02x}:00.0")


def _dump(*messages: Contract) -> list[dict[str, Any]]:
    return [message.model_dump(mode="json") for message in messages]
