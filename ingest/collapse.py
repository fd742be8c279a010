"""Identical kernel lines inside one batch become one observation with a count. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from gpuward.contracts.observations import (
    GpuMapped,
    KernelFaultLogged,
    Observation,
    SxidLogged,
    XidLogged,
)
from ingest.kernel.message import MAX_TEXT

_KERNEL_LINES = (XidLogged, SxidLogged, KernelFaultLogged, GpuMapped)
_OCCURRENCE = {"id", "time", "count", "sequence"}


def collapse(observations: Iterable[Observation]) -> list[Observation]:
    """One observation per distinct kernel line, in order of first appearance; everything else as it came.

    Law: the counts add up to what came in. The one that stays keeps the first line's id and time, and has the range
    of sequence numbers from the lowest to the highest that it stands for.
    """
    groups: dict[Hashable, list[Observation]] = {}
    for number, observation in enumerate(observations):
        key = _line(observation) if isinstance(observation, _KERNEL_LINES) else number
        groups.setdefault(key, []).append(observation)
    return [group[0] if len(group) == 1 else _one(group) for group in groups.values()]


def _line(observation: XidLogged | SxidLogged | KernelFaultLogged | GpuMapped) -> Hashable:
    """The same text under the same boot was read the same way, unless it was cut."""
    if len(observation.text) < MAX_TEXT:
        return (observation.kind, observation.boot_id, observation.text, observation.device)
    return (observation.kind, repr(observation.model_dump(exclude=_OCCURRENCE)))


def _one(group: list[Observation]) -> Observation:
    ranges = [observation.sequence for observation in group if observation.sequence is not None]
    span = (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else None
    return group[0].model_copy(update={"count": sum(observation.count for observation in group), "sequence": span})
