"""What a collector saw. Facts, not verdicts.

An observation's `id` is a deterministic hash of what makes the occurrence unique at its source, so that reading or
publishing it again gives the same id. Unknown kinds and unknown fields are kept, never refused.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from gpuward.contracts.identity import GpuId, NodeId, Slot
from gpuward.contracts.model import Contract

BATCH_TYPE = "gpuward.observations"


def observation_id(*parts: object) -> str:
    """32 hex digits over the parts that make the occurrence unique (boot id and kernel sequence; provider event id; …)."""
    return blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).hexdigest()


class _Seen(Contract):
    """What every observation says: when (event time, aware), under which boot, and how often within its batch."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    time: datetime
    boot_id: str = ""
    count: int = 1
    """Identical kernel lines inside one batch collapse to one with a count."""
    sequence: tuple[int, int] | None = None
    """First and last kernel-log sequence number that this observation stands for; dedupe is by range."""


class _KernelLine(_Seen):
    device: Slot | None = None
    text: str = ""
    """The message without its time prefix, at most 512 characters."""


class XidLogged(_KernelLine):
    """One `NVRM: Xid` line. Source of the grammar: the open kernel modules 595.45.04, `kernel_rc.c` and neighbours."""

    kind: Literal["xid"] = "xid"
    code: int
    pid: int | None = None
    process: str | None = None
    gpu: GpuId | None = None
    """Only where the collector itself knows the UUID under this boot; the streams' slot map decides otherwise."""
    mig_gi: int | None = None
    mig_ci: int | None = None
    caused_by: int | None = None
    """Xid 45: `caused by previous Xid N`."""
    reset_required: bool | None = None
    """Xid 94/95: `RST: Yes|No`."""
    drain_reset_required: bool | None = None
    """Xid 94/95: `D-RST: Yes|No`."""
    recovery_from: int | None = None
    recovery_to: int | None = None
    """Xid 154: the number, not the words (1 is printed as both GPU Reset Required and PF FLR)."""
    unit: str | None = None
    """Xid 144-150: the unit's name, whether the line says Fatal, the link, and the register words in order."""
    fatal: bool | None = None
    link: int | None = None
    registers: tuple[int, ...] = ()


class SxidLogged(_KernelLine):
    """One NVSwitch error; its two or three lines count once. The severity in the line beats the static table."""

    kind: Literal["sxid"] = "sxid"
    code: int
    severity: str | None = None
    """`fatal`, `non_fatal` or `correctable`; None where the line did not say."""
    link: int | None = None


class KernelFaultLogged(_KernelLine):
    """A kernel line that names a fault without an Xid."""

    kind: Literal["kernel"] = "kernel"
    code: str
    """`gpu_fallen_off_bus`, `rm_init_failed`, `pcie_aer`, `machine_check`, `oom_kill`, `kernel_panic`, `inforom_corrupted`, …"""
    severity: str | None = None
    """Only where the line says so: `corrected`, `nonfatal` or `fatal` (PCIe AER)."""


class GpuMapped(_KernelLine):
    """The driver said which GPU sits in which slot under this boot (`NVRM: GPU at PCI:…: GPU-<uuid>`)."""

    kind: Literal["gpu_mapped"] = "gpu_mapped"
    gpu: GpuId


Column = list[int | float | str | bool | None]


class NodeSample(_Seen):
    """Levels and cumulative counters of one node, columnar: one array per field over the node's GPUs.

    A full sample names every column; a delta leaves out the columns that did not change since the last one. `slots` and
    `gpus` are always given in a full sample and say which GPUs the arrays are over. Columns in use now: `session` (str:
    changes when the driver binds this GPU anew), `recovery_action` (NVML field 230), `remap_pending`, `remap_failure`
    (bool), `ecc_dbe_volatile` (count), `temperature_c`, `power_w`, `utilization_pct`, `missing` (bool: the slot is known,
    the GPU does not answer).
    """

    kind: Literal["sample"] = "sample"
    full: bool
    slots: tuple[Slot, ...] = ()
    gpus: tuple[GpuId, ...] = ()
    columns: dict[str, Column] = Field(default_factory=dict)
    node: dict[str, int | float | str | bool | None] = Field(default_factory=dict)
    """Node-wide values: services, NICs, uptime."""


class GpuMissing(_Seen):
    """The agent lives, a GPU that stood in this slot under this boot does not answer."""

    kind: Literal["gpu_missing"] = "gpu_missing"
    device: Slot
    gpu: GpuId | None = None


class MaintenanceNotice(_Seen):
    """A provider announced something. Phases only move forward: announced, started, completed, or canceled."""

    kind: Literal["maintenance"] = "maintenance"
    event: str
    phase: str
    not_before: datetime | None = None
    not_after: datetime | None = None
    action: str = ""
    reason: str = ""
    source: str = ""


class CollectorFailed(_Seen):
    """One collector of a node did not answer within its time limit, or raised. Reported once per failure that goes on."""

    kind: Literal["collector_failed"] = "collector_failed"
    collector: str
    reason: Literal["stalled", "error"]
    error: str = ""
    """What it raised, at most 200 characters."""


class OtherObservation(_Seen):
    """A kind that this version does not know: kept whole, acted on by nobody."""

    kind: str


_KNOWN = ("xid", "sxid", "kernel", "gpu_mapped", "sample", "gpu_missing", "maintenance", "collector_failed")


def _tag(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in _KNOWN else "other"


Observation = Annotated[
    Annotated[XidLogged, Tag("xid")]
    | Annotated[SxidLogged, Tag("sxid")]
    | Annotated[KernelFaultLogged, Tag("kernel")]
    | Annotated[GpuMapped, Tag("gpu_mapped")]
    | Annotated[NodeSample, Tag("sample")]
    | Annotated[GpuMissing, Tag("gpu_missing")]
    | Annotated[MaintenanceNotice, Tag("maintenance")]
    | Annotated[CollectorFailed, Tag("collector_failed")]
    | Annotated[OtherObservation, Tag("other")],
    Discriminator(_tag),
]


class ObservationBatch(Contract):
    """One Kafka record: what one node's agent saw in one tick. `seq` rises by one per batch within a boot and agent run."""

    node: NodeId
    boot_id: str
    seq: int
    time: datetime
    observations: tuple[Observation, ...] = ()
