"""A small fleet of real actors: one pool, one rack, one node with two GPUs, as their first messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpuward.contracts.claims import Limits
from gpuward.contracts.faults import Evidence, Fault, Revision
from gpuward.contracts.identity import Entity, GpuId, NodeId, PoolId, RackId, Slot
from gpuward.contracts.inventory import GpuSeat, InventoryChanged
from gpuward.contracts.policy import Budget, PolicyChanged, PoolPolicy
from gpuward.contracts.remedies import HoldClass, Remedy, Severity, Verdict
from gpuward.contracts.seat import Address, Seat
from tests.component.workflows.peers import Kit, eventually


@dataclass(frozen=True)
class Fleet:
    """Names are made of one word, so that several fit on one server."""

    name: str

    @property
    def node(self) -> str:
        return f"node/n-{self.name}"

    @property
    def rack(self) -> str:
        return f"rack/r-{self.name}"

    @property
    def pool(self) -> str:
        return f"pool/p-{self.name}"

    def gpu(self, n: int = 0) -> str:
        return f"gpu/GPU-{self.name}-0000-0000-0000-{n:012x}"

    @property
    def all(self) -> list[str]:
        return [self.gpu(0), self.gpu(1), self.node, self.rack, self.pool]

    def seat(self, slot: int | None = None) -> Seat:
        return Seat(
            node=NodeId(f"n-{self.name}"),
            slot=None if slot is None else Slot(f"0000:{slot:02x}:00.0"),
            rack=RackId(f"r-{self.name}"),
            pool=PoolId(f"p-{self.name}"),
            epoch=1000,
            address=Address(provider="simulated", bmc="b", smbios_uuid="s"),
        )

    async def born(self, kit: Kit, **limits: Any) -> None:
        """Starts all of them and waits until each remembers that it is new."""
        now = datetime.now(UTC)
        gpus = tuple(GpuSeat(gpu=GpuId(Entity(self.gpu(n)).name), slot=Slot(f"0000:{n:02x}:00.0")) for n in (0, 1))
        policy = PoolPolicy(
            name=PoolId(f"p-{self.name}"), mode="act", budget=Budget(floor_pct=0), limits=Limits(mode="act", **limits)
        )
        await kit.tell(self.pool, PolicyChanged(entity=Entity(self.pool), version="v1", revision=1, pool=policy))
        for n in (0, 1):
            await kit.tell(
                self.gpu(n), InventoryChanged(entity=Entity(self.gpu(n)), seat=self.seat(n), time=now, boot_id="b1")
            )
        for entity in (self.node, self.rack):
            change = InventoryChanged(entity=Entity(entity), seat=self.seat(), time=now, boot_id="b1", gpus=gpus)
            await kit.tell(entity, change)

        async def remembered() -> bool:
            return all([not (await kit.view(entity)).amnesiac for entity in self.all])

        await eventually(remembered)

    def fault(self, n: int = 0, *, count: int = 1, remedy: Remedy = Remedy.RESET_GPU) -> Fault:
        now = datetime.now(UTC)
        return Fault(
            phase="raised",
            fault_id=f"{self.name}{n}",
            revision=Revision(1000, 1, count, 0),
            entity=Entity(self.gpu(n)),
            seat=self.seat(n),
            fault_class="gpu.xid.95",
            verdict=Verdict(
                severity=Severity.CRITICAL, ladder=(remedy, Remedy.REBOOT_NODE), hold=HoldClass.NONE, because="Xid 95"
            ),
            first_seen=now,
            last_seen=now,
            count=count,
            boot_id="b1",
            session="s1",
            codes=(95,),
            evidence=(Evidence(topic="fleet.observations.v1", partition=0, offset=1, text="NVRM: Xid 95"),),
        )
