"""What a host, a BMC and an agent see of the world. A machine that is down says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any
from zlib import crc32

from pydantic import BaseModel, Field

from gpuward.simulator.misbehaviour import neighbour, silent
from gpuward.simulator.state import Diagnostic, GpuState, Line, NodeState, WorldState

Value = int | float | str | bool | None


class GpuView(BaseModel):
    """One GPU as its host sees it. What cannot be read (a lost GPU, one being reset) is None."""

    uuid: str
    slot: str
    index: int
    serial: str
    state: str
    """`ok`, `lost` or `resetting`."""
    session: str | None
    recovery_action: int | None
    remap_pending: bool | None
    remap_failure: bool | None
    ecc_dbe_volatile: int | None
    temperature_c: int | None
    power_w: int | None
    utilization_pct: int | None
    xids: list[int]
    """Codes in the kernel log for it since the driver bound it, under this boot."""


class HostView(BaseModel):
    """What the host itself says under this boot."""

    node: str
    rack: str
    boot_id: str
    booted: datetime
    smbios_uuid: str
    expected_gpus: int
    workload: bool
    cordons: dict[str, str]
    lease: str
    gpus: list[GpuView]


class BmcView(BaseModel):
    """What the BMC at an address says."""

    system_uuid: str
    power: str


class Seen(BaseModel):
    """One node's sample, columnar over its GPUs."""

    node: str
    boot_id: str
    slots: list[str]
    gpus: list[str]
    columns: dict[str, list[Value]]
    values: dict[str, Value]


class Standing(BaseModel):
    """What stands where: one node of the inventory."""

    node: str
    rack: str
    domain: str
    bmc: str
    smbios_uuid: str
    boot_id: str
    time: datetime
    """When this last changed, a boot included."""
    labels: dict[str, str]
    gpus: list[dict[str, str]]


class Poll(BaseModel):
    """What one agent reads for all nodes at once. `cursors` move those of the next poll; `more`: read again at once."""

    time: datetime
    cursors: dict[str, int]
    more: bool
    lines: list[tuple[int, str, str, int, float, str]] = Field(default_factory=list)
    """World-wide number, node, boot id, sequence, epoch seconds, text."""
    samples: list[Seen] = Field(default_factory=list)
    inventory: list[Standing] = Field(default_factory=list)
    inventory_version: str = ""


def instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def host(node: NodeState, now: float) -> HostView:
    """Call it only while the host is up."""
    gpus = [_gpu(node, gpu, index, now) for index, gpu in enumerate(node.gpus)]
    return HostView(
        node=node.name, rack=node.rack, boot_id=node.boot_id, booted=instant(node.booted_at), smbios_uuid=node.smbios_uuid,
        expected_gpus=len(node.gpus), workload=node.workload, cordons=node.cordons, lease=node.lease, gpus=gpus,
    )  # fmt: skip


def bmc(state: WorldState, address: str) -> BmcView:
    """Raises KeyError where no BMC answers."""
    node = neighbour(state, address)
    return BmcView(system_uuid=node.smbios_uuid, power=node.power)


def kernel(node: NodeState, after: int, boot_id: str, limit: int) -> list[Line]:
    """Lines of one boot (the current one, if none is named) past a sequence number."""
    wanted = boot_id or node.boot_id
    return [line for line in node.log if line.boot_id == wanted and line.sequence > after][:limit]


def diagnostic(found: Diagnostic) -> dict[str, Any]:
    return {
        "level": found.level, "ready": instant(found.ready).isoformat(), "passed": found.passed, "failed": found.failed,
    }  # fmt: skip


def poll(
    state: WorldState, now: float, cursors: Mapping[str, int], inventory_version: str, limit: int = 20_000
) -> Poll:
    """Kernel lines of each node past its cursor, a sample of each node that speaks, and the inventory where it changed.

    A node that is silent or down says nothing; its cursor stays, and its lines come when it speaks again.
    """
    speaking = [node for node in state.nodes.values() if node.up and not silent(node)]
    page: list[Line] = []
    more = False
    for node in speaking:
        after = cursors.get(node.name, 0)
        lines = list(takewhile(lambda line, after=after: line.n > after, reversed(node.log)))[::-1]  # type: ignore[misc]
        more |= len(lines) > limit - len(page)
        page += lines[: limit - len(page)]
    version = f"{crc32(''.join(node.boot_id for node in speaking).encode()):08x}"
    return Poll(
        time=instant(now),
        cursors={line.node: line.n for line in page},
        more=more,
        lines=[tuple(line) for line in page],
        samples=[] if more else [_seen(node, now) for node in speaking],
        inventory=[_standing(node) for node in speaking] if version != inventory_version else [],
        inventory_version=version,
    )


def _gpu(node: NodeState, gpu: GpuState, index: int, now: float) -> GpuView:
    readable = not (gpu.lost or gpu.resetting)
    flutter = crc32(f"{gpu.uuid}/{int(now // 10)}".encode())
    busy = node.workload
    measured: dict[str, Any] = {
        "session": gpu.session,
        "recovery_action": gpu.recovery_action,
        "remap_pending": gpu.remap_pending,
        "remap_failure": gpu.remap_failure,
        "ecc_dbe_volatile": gpu.ecc_dbe,
        "temperature_c": (58 if busy else 31) + flutter % 5,
        "power_w": (620 if busy else 72) + flutter % 40,
        "utilization_pct": 93 + flutter % 7 if busy else 0,
    }
    return GpuView(
        uuid=gpu.uuid,
        slot=gpu.slot,
        index=index,
        serial=gpu.serial,
        state="lost" if gpu.lost else "resetting" if gpu.resetting else "ok",
        xids=gpu.xids,
        **(measured if readable else dict.fromkeys(measured)),
    )


_COLUMNS = (
    "session", "recovery_action", "remap_pending", "remap_failure", "ecc_dbe_volatile", "temperature_c", "power_w",
    "utilization_pct",
)  # fmt: skip


def _seen(node: NodeState, now: float) -> Seen:
    gpus = [_gpu(node, gpu, index, now) for index, gpu in enumerate(node.gpus)]
    columns: dict[str, list[Value]] = {name: [getattr(gpu, name) for gpu in gpus] for name in _COLUMNS}
    columns["missing"] = [gpu.state == "lost" for gpu in gpus]
    return Seen(
        node=node.name, boot_id=node.boot_id, slots=[gpu.slot for gpu in gpus], gpus=[gpu.uuid for gpu in gpus],
        columns=columns, values={"workload": node.workload, "cordoned": bool(node.cordons)},
    )  # fmt: skip


def _standing(node: NodeState) -> Standing:
    return Standing(
        node=node.name, rack=node.rack, domain=node.domain, bmc=node.bmc, smbios_uuid=node.smbios_uuid, boot_id=node.boot_id,
        time=instant(max(node.inventory_time, node.booted_at)), labels=node.labels,
        gpus=[{"uuid": gpu.uuid, "slot": gpu.slot, "serial": gpu.serial} for gpu in node.gpus],
    )  # fmt: skip
