"""What can be asked of a machine. Every act that reaches one is counted, and asking twice does it twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuward.simulator import effects, machine
from gpuward.simulator.misbehaviour import lies, neighbour
from gpuward.simulator.state import Act, NodeState, WorldState


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and body. `lost`: the act had its effect, and the answer never arrives."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    lost: bool = False


def reset(state: WorldState, name: str, now: float, gpus: list[str]) -> Answer:
    """Resets GPUs of a node, as `nvidia-smi -r` does: a lost GPU and one in use answer with NVML's errors 15 and 19."""
    node = state.node(name)
    known = [gpu for gpu in node.gpus if gpu.uuid in gpus]
    if not node.up:
        return _answer(state, node, "reset", now, _down(node), gpus)
    if len(known) != len(gpus) or not gpus:
        return _answer(state, node, "reset", now, Answer(404, {"error": "NOT_FOUND", "code": 6}), gpus)
    if any(gpu.lost for gpu in known):
        return _answer(state, node, "reset", now, Answer(409, {"error": "GPU_IS_LOST", "code": 15}), gpus)
    if node.workload:
        return _answer(state, node, "reset", now, Answer(409, {"error": "IN_USE", "code": 19}), gpus)
    return _do(state, node, "reset", now, {"gpus": gpus})


def reboot(state: WorldState, name: str, now: float) -> Answer:
    """Reboots through the host."""
    node = state.node(name)
    if not node.up:
        return _answer(state, node, "reboot", now, _down(node))
    return _do(state, node, "reboot", now, {})


def power_cycle(state: WorldState, address: str, now: float) -> Answer:
    """Cuts and restores the power of whatever machine this BMC address leads to."""
    node = neighbour(state, address)
    return _do(state, node, "power_cycle", now, {}, via=address)


def evict(state: WorldState, name: str, now: float, mode: str, deadline_s: float) -> Answer:
    """Ends or moves the work on a node. `deadline_s` is in seconds of the wall."""
    node = state.node(name)
    if mode not in ("immediate", "allow_completion", "deadline"):
        return _answer(state, node, "evict", now, Answer(422, {"error": f"no eviction is called {mode!r}"}))
    return _do(state, node, "evict", now, {"mode": mode, "deadline_s": deadline_s})


def validate(state: WorldState, name: str, now: float, level: int) -> Answer:
    """Starts a diagnostic; its result is read at `GET /nodes/{n}/diagnostic`."""
    node = state.node(name)
    if not node.up:
        return _answer(state, node, "validate", now, _down(node))
    return _do(state, node, "validate", now, {"level": level})


def cordon(state: WorldState, name: str, now: float, owner: str, reason: str, *, lease: bool = False) -> Answer:
    """Keeps new work off, under the owner's name beside all others. With `lease`, takes ownership or answers 409."""
    node = state.node(name)
    if lease and node.lease not in ("", owner):
        answer = Answer(409, {"error": f"the lease of {name} is held by {node.lease}", "lease": node.lease})
        return _answer(state, node, "cordon", now, answer)
    others = {other: why for other, why in node.cordons.items() if other != owner}
    node.cordons[owner] = reason
    node.lease = owner if lease else node.lease
    return _answer(
        state, node, "cordon", now, Answer(200, {"others": others, "cordons": node.cordons, "lease": node.lease})
    )


def uncordon(state: WorldState, name: str, now: float, owner: str) -> Answer:
    """Takes away the owner's own cordon and lease, nobody else's."""
    node = state.node(name)
    removed = node.cordons.pop(owner, None) is not None
    node.lease = "" if node.lease == owner else node.lease
    return _answer(state, node, "uncordon", now, Answer(200, {"removed": removed, "cordons": node.cordons}))


def _do(state: WorldState, node: NodeState, kind: str, now: float, ask: dict[str, Any], via: str = "") -> Answer:
    accepted = Answer(202, {"accepted": True, "node": node.name})
    lie = lies(node, kind)
    how = lie.how if lie else ""
    if lie is not None and how == "act_delayed":
        machine.schedule(state, node, now + lie.delay_s, 0, "late", act=kind, ask=ask)
    elif how != "accept_and_do_nothing":
        effects.EFFECTS[kind](state, node, now, {**ask, "hang": how == "hang_reboot"})
    if how == "act_and_lose_answer":
        accepted = Answer(202, accepted.body, lost=True)
    return _answer(state, node, kind, now, accepted, list(ask.get("gpus", ())), via)


def _answer(
    state: WorldState,
    node: NodeState,
    kind: str,
    now: float,
    answer: Answer,
    gpus: list[str] | None = None,
    via: str = "",
) -> Answer:
    """Counts the act, whatever becomes of it."""
    said = "lost" if answer.lost else str(answer.body.get("error", answer.status))
    state.acts.append(Act(node=node.name, kind=kind, time=now, answer=said, gpus=gpus or [], via=via))
    return answer


def _down(node: NodeState) -> Answer:
    return Answer(503, {"error": f"{node.name} does not answer"})
