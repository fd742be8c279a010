"""Makes observations, and a node that the rules are run over. Times are seconds after one fixed moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import GpuId, NodeId, RackId, Slot
from gpuward.contracts.inventory import GpuSeat, NodeInventory
from gpuward.contracts.observations import (
    NodeSample,
    Observation,
    ObservationBatch,
    XidLogged,
    observation_id,
)
from gpuward.contracts.seat import Address
from gpuward.runtime.policy import load
from streams.classify import Classifier
from streams.rules.context import Context
from streams.rules.inventory import take_inventory
from streams.rules.step import step
from streams.rules.view import NodeView, Volatile

START = datetime(2026, 3, 1, tzinfo=UTC)
NODE = NodeId("n1")
BOOT = "boot-1"


def gpu(index: int, node: int = 1) -> GpuId:
    return GpuId(f"GPU-{node:08x}-0000-0000-0000-{index:012x}")


def slot(index: int) -> Slot:
    return Slot(f"0000:{index + 1:02x}:00.0")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@cache
def classifier() -> Classifier:
    return Classifier(load())


def xid(code: int, seconds: float, *, device: int = 0, seq: int | None = None, boot: str = "", **more) -> XidLogged:
    sequence = None if seq is None else (seq, seq)
    return XidLogged(
        id=observation_id(boot or BOOT, code, seconds, device, seq),
        time=at(seconds),
        boot_id=boot,
        code=code,
        device=slot(device),
        text=f"Xid (PCI:0000:{device + 1:02x}:00): {code}",
        sequence=sequence,
        **more,
    )


def recovery(before: int, after: int, seconds: float, **more) -> XidLogged:
    return xid(154, seconds, recovery_from=before, recovery_to=after, **more)


def sample(seconds: float, *, gpus: int = 2, full: bool = True, boot: str = "", owners=None, **columns) -> NodeSample:
    """Columns as `recovery_action={0: 4}`: index → value, the others at rest."""
    rest = {"session": "s1", "recovery_action": 0, "missing": False, "remap_pending": False, "remap_failure": False}
    given = {name: [columns.get(name, {}).get(i, calm) for i in range(gpus)] for name, calm in rest.items()}
    if not full:
        given = {name: given[name] for name in columns}
    owners = owners or [gpu(i) for i in range(gpus)]
    return NodeSample(
        id=observation_id("sample", boot or BOOT, seconds),
        time=at(seconds),
        boot_id=boot,
        full=full,
        slots=tuple(slot(i) for i in range(gpus)) if full else (),
        gpus=tuple(owners) if full else (),
        columns=given,
    )


def batch(*observations: Observation, boot: str = BOOT, node: NodeId = NODE) -> ObservationBatch:
    time = max((one.time for one in observations), default=START)
    return ObservationBatch(node=node, boot_id=boot, seq=0, time=time, observations=observations)


def inventory(seconds: float = -60, *, gpus: int = 2, boot: str = BOOT, rack: str = "r1", **more) -> NodeInventory:
    return NodeInventory(
        node=NODE,
        source=more.pop("source", "agent"),
        time=at(seconds),
        boot_id=boot,
        rack=RackId(rack),
        address=Address(provider="simulated", smbios_uuid="u1"),
        gpus=tuple(GpuSeat(gpu=gpu(i), slot=slot(i)) for i in range(gpus)),
        **more,
    )


class Node:
    """A node under the rules, as `detect` would run them; `faults` is all that was told."""

    def __init__(self, *, known: bool = True) -> None:
        self.view, self.volatile = NodeView(node=NODE), Volatile()
        self.faults: list[Fault] = []
        self.offset = 0
        self.now = START
        if known:
            self.feed(sample(-30))

    def context(self, topic: str = "fleet.observations.v1") -> Context:
        return Context(
            partition=0,
            offset=self.offset,
            now=self.now,
            classify=classifier(),
            pools={"default": {}},
            topic=topic,
        )

    def feed(self, *observations: Observation, boot: str = BOOT) -> list[Fault]:
        return self.take(batch(*observations, boot=boot))

    def take(self, given: ObservationBatch) -> list[Fault]:
        self.offset += 1
        self.now = max(self.now, given.time)
        self.view, self.volatile, faults = step(self.view, self.volatile, given, self.context())
        self.faults += faults
        return faults

    def seat(self, record: NodeInventory):
        self.view, changes, faults = take_inventory(self.view, record, self.context("fleet.inventory.v1"))
        self.faults += faults
        return changes

    def standing(self) -> dict[str, Fault]:
        """Fault class → newest record of each fault that is not cleared."""
        newest: dict[str, Fault] = {}
        for fault in self.faults:
            newest[fault.fault_id] = fault
        return {fault.fault_class: fault for fault in newest.values() if fault.phase != "cleared"}
