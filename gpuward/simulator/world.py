"""Time passes: what was begun comes to its end. Pure: `now` is an argument, nothing is read but the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuward.simulator import effects, lines, machine
from gpuward.simulator.state import GpuState, Level, NodeState, WorldState


def begin(state: WorldState, now: float) -> None:
    """First boot of every node."""
    for node in state.nodes.values():
        node.inventory_time = now
        node.job_ends = now + state.durations.wall(state.durations.job_left_s)
        machine.boot(state, node, now, Level.NONE)


def advance(state: WorldState, now: float) -> bool:
    """Everything that is due by `now` happens, in order of time. Returns whether anything did."""
    happened = False
    for node in state.nodes.values():
        while due := [pending for pending in node.pending if pending.at <= now]:
            first = min(due, key=lambda pending: pending.at)
            node.pending.remove(first)
            _ENDS[first.kind](state, node, first.at, first.data)
            happened = True
        happened |= _work_comes_and_goes(state, node, now)
    return happened


def _reset_ends(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    """The GPU is bound anew, unless it needs more than a reset."""
    for gpu in node.gpus:
        if gpu.uuid not in data["gpus"]:
            continue
        gpu.resetting = False
        machine.heal(gpu, Level.RESET)
        machine.new_session(state, gpu)
        machine.log(state, node, now, lines.bound_again(gpu))
        if gpu.recovery_action:
            machine.log(state, node, now, [lines.recovery(gpu, 0, gpu.recovery_action)])


def _host_down(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    del state, now
    machine.go_down(node)
    node.power = str(data.get("power", "on"))


def _boot_ends(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    machine.boot(state, node, now, Level(data["level"]))


def _evicted(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    del state, now, data
    node.workload = False


def _diagnosed(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    del state, now, data
    found = node.diagnostic
    if found is None:
        return
    failed = [f"{test}:{gpu.uuid}" for gpu in node.gpus for test in _failures(gpu, found.level)]
    node.diagnostic = found.model_copy(update={"passed": not failed, "failed": failed})


def _failures(gpu: GpuState, level: int) -> list[str]:
    if gpu.lost:
        return ["software"]
    wrong = {
        "memory": gpu.remap_pending or gpu.remap_failure or gpu.ecc_dbe > 0,
        "software": gpu.recovery_action in (1, 2, 4),
        "targeted_stress": gpu.defect and level > 1,
    }
    return [test for test, failed in wrong.items() if failed]


def _work_comes_and_goes(state: WorldState, node: NodeState, now: float) -> bool:
    """A job ends by itself; the next one comes where nobody keeps work off."""
    if node.workload and now >= node.job_ends:
        if node.cordons:
            node.workload = False
            return True
        node.job_ends = now + state.durations.wall(state.durations.job_left_s)
        return False
    if (
        not node.workload
        and node.up
        and not node.cordons
        and not any(pending.kind == "job" for pending in node.pending)
    ):
        machine.schedule(state, node, now, state.durations.next_job_s, "job")
        return True
    return False


def _job(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    del data
    if node.up and not node.cordons:
        node.workload = True
        node.job_ends = now + state.durations.wall(state.durations.job_left_s)


def _late(state: WorldState, node: NodeState, now: float, data: dict[str, Any]) -> None:
    """An act that was accepted long ago has its effect now."""
    effects.EFFECTS[data["act"]](state, node, now, data["ask"])


_ENDS: dict[str, Callable[[WorldState, NodeState, float, dict[str, Any]], None]] = {
    "reset": _reset_ends,
    "down": _host_down,
    "boot": _boot_ends,
    "evict": _evicted,
    "diagnose": _diagnosed,
    "job": _job,
    "late": _late,
}
