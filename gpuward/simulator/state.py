"""Everything that is true of the world now. Plain data; times are seconds since the epoch (of the wall)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, PlainSerializer

from gpuward.simulator.durations import Durations

LOG_LINES = 30_000
"""Kernel lines kept per node, as a ring buffer does."""


class Level(StrEnum):
    """What it takes to clear an ailment; each level does what those before it do."""

    NONE = "none"
    RESET = "reset"
    REBOOT = "reboot"
    POWER_CYCLE = "power_cycle"
    REPLACE = "replace"

    def clears(self, needs: Level) -> bool:
        """Whether an act of this level clears what needs that one."""
        order = list(Level)
        return order.index(self) >= order.index(needs)


class Line(NamedTuple):
    """One kernel line. `n` rises over the whole world; `sequence` starts again with each boot of the node."""

    n: int
    node: str
    boot_id: str
    sequence: int
    time: float
    text: str


Log = Annotated[
    deque[Line],
    PlainSerializer(lambda lines: [tuple(line) for line in lines], return_type=list[Any]),
]


class GpuState(BaseModel):
    """One GPU: who it is, where it sits, and what ails it."""

    uuid: str
    serial: str
    slot: str
    session: str = ""
    sessions: int = 0
    lost: bool = False
    needs: Level = Level.NONE
    recovery_action: int = 0
    remap_pending: bool = False
    remap_failure: bool = False
    ecc_dbe: int = 0
    xids: list[int] = Field(default_factory=list)
    """Codes logged for it under this driver session."""
    defect: bool = False
    """Found by a diagnostic of level 2 or more, and by nothing else."""
    resetting: bool = False


class Pending(BaseModel):
    """Something begun that comes to its end at a time."""

    at: float
    kind: str
    data: dict[str, Any] = Field(default_factory=dict)


class Misbehaviour(BaseModel):
    """How a node lies. `acts`: the kinds of act it lies about; `times`: how often still (None: always)."""

    how: str
    acts: tuple[str, ...] = ()
    times: int | None = None
    to: str = ""
    delay_s: float = 0.0


class Diagnostic(BaseModel):
    """The last diagnostic of a node; `passed` is None while it runs."""

    level: int
    started: float
    ready: float
    passed: bool | None = None
    failed: list[str] = Field(default_factory=list)


class NodeState(BaseModel):
    """One host with its BMC, its GPUs, its work and who keeps work off it."""

    name: str
    rack: str
    domain: str
    bmc: str
    smbios_uuid: str
    labels: dict[str, str] = Field(default_factory=dict)
    gpus: list[GpuState] = Field(default_factory=list)
    boot_id: str = ""
    boots: int = 0
    booted_at: float = 0.0
    sequences: dict[str, int] = Field(default_factory=dict)
    """Last kernel sequence number by boot id, of the last few boots."""
    up: bool = True
    power: str = "on"
    workload: bool = True
    job_ends: float = 0.0
    cordons: dict[str, str] = Field(default_factory=dict)
    """Owner → reason."""
    lease: str = ""
    diagnostic: Diagnostic | None = None
    pending: list[Pending] = Field(default_factory=list)
    misbehaviours: list[Misbehaviour] = Field(default_factory=list)
    inventory_time: float = 0.0
    log: Log = Field(default_factory=lambda: deque(maxlen=LOG_LINES))

    def gpu(self, name: str | int) -> GpuState:
        """By UUID, slot or index. Raises KeyError."""
        if isinstance(name, int):
            if name < len(self.gpus):
                return self.gpus[name]
        else:
            for gpu in self.gpus:
                if name in (gpu.uuid, gpu.slot):
                    return gpu
        raise KeyError(f"{self.name} has no GPU {name}")


class Act(BaseModel):
    """An act that reached a machine, whatever became of it."""

    node: str
    kind: str
    time: float
    answer: str
    gpus: list[str] = Field(default_factory=list)
    via: str = ""
    """The address it was sent to."""


class WorldState(BaseModel):
    """The whole world."""

    seed: int
    durations: Durations = Durations()
    nodes: dict[str, NodeState] = Field(default_factory=dict)
    acts: list[Act] = Field(default_factory=list)
    last_line: int = 0

    def node(self, name: str) -> NodeState:
        """Raises KeyError with a sentence."""
        if name not in self.nodes:
            raise KeyError(f"there is no node {name}")
        return self.nodes[name]

    def rack(self, name: str) -> Iterator[NodeState]:
        return (node for node in self.nodes.values() if node.rack == name)

    def seat_of(self, uuid: str) -> tuple[NodeState, GpuState]:
        """Where a GPU sits now. Raises KeyError."""
        for node in self.nodes.values():
            for gpu in node.gpus:
                if gpu.uuid == uuid:
                    return node, gpu
        raise KeyError(f"there is no GPU {uuid}")
