"""What an act does once a machine has accepted it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuward.simulator import machine
from gpuward.simulator.state import Diagnostic, Level, NodeState, WorldState


def reset(state: WorldState, node: NodeState, now: float, ask: dict[str, Any]) -> None:
    """The GPUs named answer nobody until they are bound anew."""
    for gpu in node.gpus:
        if gpu.uuid in ask["gpus"]:
            gpu.resetting, gpu.session = True, ""
    machine.schedule(state, node, now, state.durations.gpu_reset_s, "reset", gpus=list(ask["gpus"]))


def reboot(state: WorldState, node: NodeState, now: float, ask: dict[str, Any]) -> None:
    """The host shuts down and boots, or hangs on the way where `hang` is asked."""
    machine.forget(node, "down", "boot")
    durations = state.durations
    machine.log(state, node, now, ["systemd-shutdown[1]: Rebooting.", "reboot: Restarting system"])
    machine.schedule(state, node, now, durations.shutdown_s, "down")
    if not ask.get("hang"):
        machine.schedule(state, node, now, durations.shutdown_s + durations.boot_s, "boot", level=Level.REBOOT)


def power_cycle(state: WorldState, node: NodeState, now: float, ask: dict[str, Any]) -> None:
    """The power goes at once, without a last word in the log, and comes back."""
    machine.forget(node, "down", "boot")
    machine.go_down(node)
    node.power = "off"
    durations = state.durations
    if not ask.get("hang"):
        machine.schedule(state, node, now, durations.power_off_s + durations.boot_s, "boot", level=Level.POWER_CYCLE)


def evict(state: WorldState, node: NodeState, now: float, ask: dict[str, Any]) -> None:
    """`immediate`: after the grace. `allow_completion`: when the work ends by itself. `deadline`: whichever is first."""
    machine.forget(node, "evict")
    grace = now + state.durations.wall(state.durations.evict_grace_s)
    deadline = max(grace, now + float(ask["deadline_s"]))
    at = {
        "immediate": grace,
        "allow_completion": max(grace, node.job_ends),
        "deadline": min(deadline, max(grace, node.job_ends)),
    }
    if node.workload:
        machine.schedule(state, node, at[ask["mode"]], 0, "evict")


def diagnose(state: WorldState, node: NodeState, now: float, ask: dict[str, Any]) -> None:
    """Runs the diagnostic of that level; a reboot ends it without a result."""
    machine.forget(node, "diagnose")
    level = int(ask["level"])
    ready = machine.schedule(state, node, now, state.durations.diagnostic(level), "diagnose")
    node.diagnostic = Diagnostic(level=level, started=now, ready=ready)


EFFECTS: dict[str, Callable[[WorldState, NodeState, float, dict[str, Any]], None]] = {
    "reset": reset,
    "reboot": reboot,
    "power_cycle": power_cycle,
    "evict": evict,
    "validate": diagnose,
}
