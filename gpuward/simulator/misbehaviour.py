"""How machines lie: an act accepted and not done, an answer lost, an address that leads to the neighbour."""

from __future__ import annotations

from gpuward.simulator import machine
from gpuward.simulator.layout import slot
from gpuward.simulator.state import Level, Misbehaviour, NodeState, WorldState

ACT_LIES = frozenset({"accept_and_do_nothing", "act_and_lose_answer", "act_delayed", "hang_reboot"})
STANDING = frozenset({"mapped_to_neighbour", "silent"})
_DEFAULT_ACTS = {
    "accept_and_do_nothing": ("reset", "reboot", "power_cycle"),
    "act_and_lose_answer": ("reset", "reboot", "power_cycle"),
    "act_delayed": ("reset", "reboot", "power_cycle"),
    "hang_reboot": ("reboot",),
}


def misbehave(state: WorldState, node: NodeState, lie: Misbehaviour) -> None:
    """From now on this node lies so. An act's lie is told once unless `times` says otherwise; `behave` ends them all.

    Raises ValueError for a way that this world does not know.
    """
    if lie.how == "behave":
        node.misbehaviours = []
        return
    if lie.how in ACT_LIES:
        lie = lie.model_copy(update={"acts": lie.acts or _DEFAULT_ACTS[lie.how], "times": lie.times or 1})
    elif lie.how not in STANDING:
        raise ValueError(
            f"no misbehaviour is called {lie.how!r}: {', '.join(sorted(ACT_LIES | STANDING))}, move_gpu, behave"
        )
    if lie.to:
        state.node(lie.to)
    node.misbehaviours.append(lie)


def lies(node: NodeState, kind: str) -> Misbehaviour | None:
    """The lie about this act, if there is one; it is used up by being told."""
    for lie in node.misbehaviours:
        if lie.how in ACT_LIES and kind in lie.acts:
            if lie.times is not None:
                lie.times -= 1
                if lie.times <= 0:
                    node.misbehaviours.remove(lie)
            return lie
    return None


def silent(node: NodeState) -> bool:
    """Whether the agent gets nothing from this node, although it lives."""
    return any(lie.how == "silent" for lie in node.misbehaviours)


def neighbour(state: WorldState, address: str) -> NodeState:
    """The machine that a BMC address leads to: its own, or the neighbour's where it is mapped wrongly. Raises KeyError."""
    for node in state.nodes.values():
        if node.bmc == address:
            wrong = next((lie for lie in node.misbehaviours if lie.how == "mapped_to_neighbour"), None)
            return node if wrong is None else state.node(wrong.to) if wrong.to else _next_in_rack(state, node)
    raise KeyError(f"no BMC answers at {address}")


def _next_in_rack(state: WorldState, node: NodeState) -> NodeState:
    members = list(state.rack(node.rack))
    return members[(members.index(node) + 1) % len(members)]


def move_gpu(state: WorldState, now: float, gpu_name: str, to: str) -> None:
    """Somebody moved a board while both hosts were off: it sits in the first free slot of `to`, and both have booted anew."""
    source, gpu = state.seat_of(gpu_name)
    target = state.node(to)
    source.gpus.remove(gpu)
    taken = {other.slot for other in target.gpus}
    gpu.slot = next(free for free in map(slot, range(64)) if free not in taken)
    target.gpus.append(gpu)
    for node in (source, target):
        machine.forget(node, "reset", "down", "boot", "evict", "diagnose")
        node.inventory_time = now
        machine.boot(state, node, now, Level.POWER_CYCLE)
