"""What happens to one machine: it logs, boots, goes down, binds its GPUs anew. Pure: `now` is an argument."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpuward.simulator import lines
from gpuward.simulator.layout import deterministic_uuid
from gpuward.simulator.state import GpuState, Level, Line, NodeState, Pending, WorldState

_BOOTS_KEPT = 4
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (?P<code>\d+)")


def log(state: WorldState, node: NodeState, now: float, texts: Iterable[str], boot_id: str = "") -> None:
    """Appends kernel lines, under the current boot unless another is named (lines that arrive late)."""
    under = boot_id or node.boot_id
    for text in texts:
        state.last_line += 1
        sequence = node.sequences.get(under, -1) + 1
        node.sequences[under] = sequence
        node.log.append(Line(state.last_line, node.name, under, sequence, now, text))
        if under == node.boot_id and (found := _XID.search(text)):
            _remember(node, found["bus"].lower(), int(found["code"]))


def _remember(node: NodeState, bus: str, code: int) -> None:
    """A host can read in its own log which codes a GPU has had since the driver bound it."""
    for gpu in node.gpus:
        if gpu.slot.rpartition(".")[0] == bus and code not in gpu.xids:
            gpu.xids.append(code)


def schedule(state: WorldState, node: NodeState, now: float, world_s: float, kind: str, **data: Any) -> float:
    """Something will have come to its end after so many world seconds. Returns when, on the wall."""
    at = now + state.durations.wall(world_s)
    node.pending.append(Pending(at=at, kind=kind, data=data))
    return at


def forget(node: NodeState, *kinds: str) -> None:
    """What was begun will not end: a reset that a reboot overtakes."""
    node.pending = [pending for pending in node.pending if pending.kind not in kinds]


def new_session(state: WorldState, gpu: GpuState) -> None:
    """The driver binds this GPU anew."""
    gpu.sessions += 1
    gpu.session = deterministic_uuid(state.seed, gpu.uuid, "session", gpu.sessions)
    gpu.xids, gpu.ecc_dbe = [], 0


def heal(gpu: GpuState, level: Level) -> None:
    """An act of this level clears what it can."""
    if level.clears(Level.RESET):
        gpu.remap_pending = False
    if gpu.needs is not Level.NONE and level.clears(gpu.needs):
        gpu.lost, gpu.needs, gpu.recovery_action = False, Level.NONE, 0


def boot(state: WorldState, node: NodeState, now: float, level: Level) -> None:
    """The host comes up under a new boot id; kernel sequence numbers start again, every driver session is new."""
    node.boots += 1
    node.boot_id = deterministic_uuid(state.seed, node.name, "boot", node.boots)
    node.booted_at, node.up, node.power = now, True, "on"
    node.sequences = dict(list(node.sequences.items())[1 - _BOOTS_KEPT :])
    node.diagnostic = None
    for gpu in node.gpus:
        heal(gpu, level)
        gpu.resetting, gpu.session = False, ""
        if gpu.lost:
            gpu.xids = []
        else:
            new_session(state, gpu)
    log(state, node, now, lines.boot(node.gpus))


def go_down(node: NodeState) -> None:
    """The host stops answering; whatever ran on it is gone."""
    node.up, node.workload, node.diagnostic = False, False, None
    forget(node, "reset", "diagnose", "evict")
