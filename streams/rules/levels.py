"""Rules over samples: what each GPU of a node is like now. A level is raised while it holds and cleared when it ends.

Samples are dated levels: one that is not newer than the last that a view knows feeds the volatile part only.
"""

from __future__ import annotations

from gpuward.contracts.identity import Entity
from gpuward.contracts.observations import GpuMissing, NodeSample
from streams.rules import recovery
from streams.rules.clearing import prove
from streams.rules.context import to_ms
from streams.rules.decoding import MEMORY, OFF_THE_BUS
from streams.rules.draft import Draft
from streams.rules.slots import learn, place_of_line
from streams.rules.view import Episode, Place, Volatile
from streams.rules.xid import MISSING_CLASS, REMAP_PENDING_CLASS

REMAP_FAILED_CLASS = "gpu.memory.remap_failed"
_TEXTS = {
    MISSING_CLASS: "the GPU does not answer",
    REMAP_PENDING_CLASS: "a row remap waits for the next reset",
    REMAP_FAILED_CLASS: "a row could not be remapped",
}
_WATCHED = ("recovery_action", "missing", "remap_pending", "remap_failure")
_LEVELS = {REMAP_PENDING_CLASS: "remap_pending", REMAP_FAILED_CLASS: "remap_failure", MISSING_CLASS: "missing"}


def remember(volatile: Volatile, sample: NodeSample, at: int) -> Volatile:
    """The volatile part with this sample in it. A delta before the first full sample is forgotten; an older one too."""
    if at < volatile.sampled_ms or not (sample.full or volatile.gpus):
        return volatile
    if sample.full:
        return Volatile(sample.slots, tuple(str(gpu) for gpu in sample.gpus), dict(sample.columns), at)
    return Volatile(volatile.slots, volatile.gpus, {**volatile.columns, **sample.columns}, at)


def sample(draft: Draft, volatile: Volatile, seen: NodeSample, boot_id: str) -> Volatile:
    """One sample: the slot map, then repairs, then levels."""
    at = to_ms(seen.time)
    now = remember(volatile, seen, at)
    if seen.full:
        learn(draft, boot_id, zip(seen.slots, seen.gpus, strict=False))
    if at <= draft.sampled_ms or now is volatile:
        return now
    draft.sampled_ms = at
    known = {gpu: str(session) for gpu, session in zip(now.gpus, now.column("session"), strict=True) if session}
    same = known.items() <= draft.sessions.items() and boot_id == draft.boot_id
    if same and not draft.open and not any(any(now.column(name)) for name in _WATCHED):
        return now
    _look(draft, now, at, boot_id, known)
    if seen.full and not any(now.column("missing")):
        for episode in list(draft.open.values()):
            if episode.slot is not None and episode.slot in now.slots:
                prove(draft, episode.place, at, boot_id, "")
    if not same:
        draft.sessions, draft.boot_id, draft.boot_ms, draft.changed = known, boot_id, at, True
    return now


def _look(draft: Draft, now: Volatile, at: int, boot_id: str, sessions: dict[str, str]) -> None:
    """Each GPU: is it repaired, is a level reached or left, does the driver ask for something."""
    levels = {fault_class: now.column(column) for fault_class, column in _LEVELS.items()}
    for index, (gpu, action) in enumerate(zip(now.gpus, now.column("recovery_action"), strict=True)):
        place = Place(Entity.gpu(gpu))
        asked = action if isinstance(action, int) else 0
        if not asked and not levels[MISSING_CLASS][index]:
            prove(draft, place, at, boot_id, sessions.get(gpu, ""))
        for fault_class, column in levels.items():
            _level(draft, place, fault_class, bool(column[index]), at, boot_id)
        recovery.changed(draft, place, asked, at, boot_id, f"the driver's recovery action is {asked}")


def missing(draft: Draft, seen: GpuMissing, boot_id: str) -> None:
    """The agent itself says that a GPU is gone."""
    place, at = place_of_line(draft, seen, boot_id), to_ms(seen.time)
    if at > draft.repaired.get(place.key, 0):
        _level(draft, place, MISSING_CLASS, holds=True, at=at, boot_id=boot_id)


def _level(draft: Draft, place: Place, fault_class: str, holds: bool, at: int, boot_id: str) -> None:
    episode = draft.get(place, fault_class)
    if episode is not None:
        if not holds and at > episode.last_ms:
            draft.close(episode, f"no longer so: {_TEXTS[fault_class]}")
        return
    if holds and not _explained(draft, place, fault_class):
        text = _TEXTS[fault_class]
        draft.put(
            Episode(
                entity=place.entity,
                slot=place.slot,
                fault_class=fault_class,
                started_ms=at,
                first_ms=at,
                last_ms=at,
                boot_id=boot_id,
                session=draft.sessions.get(place.entity.name, ""),
                evidence=(draft.evidence(text),),
            )
        )


def _explained(draft: Draft, place: Place, fault_class: str) -> bool:
    """Whether an open Xid fault of this GPU says it already."""
    roots = {episode.root for episode in draft.at(place) if episode.root is not None}
    if fault_class == MISSING_CLASS:
        return OFF_THE_BUS in roots
    return fault_class == REMAP_PENDING_CLASS and bool(roots & MEMORY)
