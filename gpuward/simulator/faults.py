"""How it breaks: what each kind of fault prints and what it does to the GPU."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice

from pydantic import BaseModel, ConfigDict, Field

from gpuward.simulator import lines, machine
from gpuward.simulator.lines import Xid
from gpuward.simulator.state import GpuState, Level, NodeState, WorldState

RECOVERY_NEEDS = {1: Level.RESET, 2: Level.REBOOT, 4: Level.RESET, 6: Level.REBOOT, 7: Level.REBOOT}
"""Recovery action (NVML field 230, Xid 154) → what clears it."""
CODE_NEEDS = {
    79: Level.REBOOT,
    **dict.fromkeys((46, 48, 62, 63, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158), Level.RESET),
    64: Level.REPLACE,
}
"""Xid → what clears it. Source: domain gpu-health-rules §3, by NVIDIA's immediate action. Others leave nothing behind."""


class Injection(BaseModel):
    """What is to break. Without `gpu`: the node's first. `rack` instead of `node`: all its GPUs in turn (a storm).

    Kinds: `xid` (with `code`; a 154 says `to`), `dram` (48 + 63 + 154(0x4) in one burst), `missing` (a GPU gone without
    a word), `defect` (found only by a diagnostic of level 2 or more), `kernel` (raw `lines`, under `boot_id` if given).
    """

    model_config = ConfigDict(extra="forbid")

    node: str | None = None
    rack: str | None = None
    gpu: str | int | None = None
    fault: str = "xid"
    code: int = 79
    to: int = 1
    needs: Level | None = None
    text: str | None = None
    count: int = Field(default=1, ge=1, le=200_000)
    pid: int = 41235
    process: str = "python3"
    lines: list[str] = Field(default_factory=list)
    boot_id: str = ""


def inject(state: WorldState, now: float, what: Injection) -> list[str]:
    """Breaks it. Returns the UUIDs of the GPUs concerned. Raises KeyError for what is not there, ValueError for an
    unknown kind or for a host that is down and so logs nothing.
    """
    seats = _seats(state, what)
    for node in {node.name: node for node, _ in seats}.values():
        if not node.up and not what.boot_id:
            raise ValueError(f"{node.name} is down: it logs nothing")
    if what.fault not in _KINDS:
        raise ValueError(f"no fault is called {what.fault!r}: {', '.join(_KINDS)}")
    for node, gpu in islice(cycle(seats), max(what.count, 1)):
        _KINDS[what.fault](state, node, gpu, now, what)
    return sorted({gpu.uuid for _, gpu in seats})


def _seats(state: WorldState, what: Injection) -> list[tuple[NodeState, GpuState]]:
    if what.rack is not None:
        found = [(node, gpu) for node in state.rack(what.rack) if node.up for gpu in node.gpus]
        if not found:
            raise KeyError(f"there is no rack {what.rack} with a node that is up")
        return found
    if what.node is None:
        if not isinstance(what.gpu, str):
            raise KeyError("name a node, a rack, or the UUID of a GPU")
        return [state.seat_of(what.gpu)]
    node = state.node(what.node)
    return [(node, node.gpu(0 if what.gpu is None else what.gpu))]


def _xid(state: WorldState, node: NodeState, gpu: GpuState, now: float, what: Injection) -> None:
    if what.code == Xid.RECOVERY_ACTION and what.text is None:
        _recovery(state, node, gpu, now, what.to, what.needs)
        return
    printed = [lines.xid(gpu, what.code, what.text, pid=what.pid, process=what.process)]
    if what.code == Xid.OFF_BUS:
        gpu.lost, gpu.session = True, ""
        printed.append(lines.fallen_off(gpu))
    elif what.code in (Xid.DOUBLE_BIT, Xid.ROW_REMAP, Xid.REMAP_FAILURE):
        gpu.ecc_dbe += what.code == Xid.DOUBLE_BIT
        gpu.remap_pending |= what.code == Xid.ROW_REMAP
        gpu.remap_failure |= what.code == Xid.REMAP_FAILURE
    _need(gpu, what.needs or CODE_NEEDS.get(what.code, Level.NONE))
    machine.log(state, node, now, printed, what.boot_id)


def _recovery(state: WorldState, node: NodeState, gpu: GpuState, now: float, to: int, needs: Level | None) -> None:
    machine.log(state, node, now, [lines.recovery(gpu, gpu.recovery_action, to)])
    gpu.recovery_action = to
    _need(gpu, needs or RECOVERY_NEEDS.get(to, Level.NONE))


def _dram(state: WorldState, node: NodeState, gpu: GpuState, now: float, what: Injection) -> None:
    for code in (Xid.DOUBLE_BIT, Xid.ROW_REMAP):
        _xid(state, node, gpu, now, what.model_copy(update={"code": int(code)}))
    _recovery(state, node, gpu, now, 4, what.needs)


def _missing(state: WorldState, node: NodeState, gpu: GpuState, now: float, what: Injection) -> None:
    del state, node, now
    gpu.lost, gpu.session = True, ""
    _need(gpu, what.needs or Level.REBOOT)


def _defect(state: WorldState, node: NodeState, gpu: GpuState, now: float, what: Injection) -> None:
    del state, node, now, what
    gpu.defect = True


def _kernel(state: WorldState, node: NodeState, gpu: GpuState, now: float, what: Injection) -> None:
    del gpu
    machine.log(state, node, now, what.lines, what.boot_id)


def _need(gpu: GpuState, needs: Level) -> None:
    if not gpu.needs.clears(needs):
        gpu.needs = needs


_KINDS: dict[str, Callable[[WorldState, NodeState, GpuState, float, Injection], None]] = {
    "xid": _xid,
    "dram": _dram,
    "missing": _missing,
    "defect": _defect,
    "kernel": _kernel,
}
