"""The Xid rule: which GPU, which fault, what folds into what.

Codes seen on one entity become one fault that is named by its root and lists them all. The root is the strongest code;
a stronger one that comes within five seconds takes over. Law: the order inside a burst does not matter for its end.
Source: `gpu-health-rules` §1, §3 and §11.
"""

from __future__ import annotations

from gpuward.contracts.catalogue.xids import XidAction
from gpuward.contracts.faults import MAX_EVIDENCE
from gpuward.contracts.observations import XidLogged
from streams.rules import recovery
from streams.rules.context import Facts, to_ms
from streams.rules.decoding import (
    CANCELS,
    MEMORY,
    MERGE_MS,
    NEVER_ROOT,
    OFF_THE_BUS,
    RECOVERY_CHANGED,
    action_of,
    strength_of,
)
from streams.rules.draft import Draft
from streams.rules.slots import place_of_line
from streams.rules.view import Episode, Place, Strength

MISSING_CLASS = "gpu.missing"
REMAP_PENDING_CLASS = "gpu.memory.remap_pending"


def class_of(code: int) -> str:
    return f"gpu.xid.{code}"


def xid(draft: Draft, line: XidLogged, boot_id: str) -> None:
    """One line that was not seen before."""
    place, at = place_of_line(draft, line, boot_id), to_ms(line.time)
    if at <= draft.repaired.get(place.key, 0):
        return
    if line.code == RECOVERY_CHANGED:
        recovery.changed(draft, place, line.recovery_to, at, boot_id, line.text)
        return
    if line.code in CANCELS:
        _cancel(draft, place, CANCELS[line.code], at)
        return
    root = root_of(draft, place)
    action = action_of(line)
    if root is not None and (line.code in NEVER_ROOT or (line.code in root.codes and action is None)):
        _join(draft, root, line, at, root.action, root.strength)
        return
    if line.code in NEVER_ROOT:
        return
    facts = Facts(class_of(line.code), place.entity, (line.code,), action=action)
    strength = strength_of(draft.judge(place, facts), line.code)
    if root is not None and (root.root == line.code or _follows(strength, root)):
        _join(draft, root, line, at, action, strength)
    else:
        _open(draft, place, line, at, boot_id, action, strength)


def root_of(draft: Draft, place: Place) -> Episode | None:
    """The strongest open Xid fault of this place."""
    return max((one for one in draft.at(place) if one.root is not None), key=lambda one: one.strength, default=None)


def _follows(strength: Strength, root: Episode) -> bool:
    """Whether a code of this strength only follows this root. One that needs a person keeps its own fault, so that nothing
    is repaired over it, unless the GPU is off the bus anyway.
    """
    alone = strength.person and not root.strength.person and root.root != OFF_THE_BUS
    return strength <= root.strength and not alone


def _open(
    draft: Draft, place: Place, line: XidLogged, at: int, boot_id: str, action: XidAction | None, strength: Strength
) -> None:
    known = draft.get(place, class_of(line.code))
    if known is not None:
        _join(draft, known, line, at, action, strength)
        return
    episode = Episode(
        entity=place.entity,
        slot=place.slot,
        fault_class=class_of(line.code),
        root=line.code,
        action=action,
        strength=strength,
        started_ms=at,
        first_ms=at,
        last_ms=at,
        count=line.count,
        boot_id=boot_id,
        session=draft.sessions.get(place.entity.name, "") if boot_id == draft.boot_id else "",
        codes=(line.code,),
        evidence=(draft.evidence(line.text),),
    )
    others = draft.at(place)
    draft.put(episode)
    for other in others:
        if _takes_over(episode, other):
            episode = draft.fold(other, episode)
    recovery.share(draft, place, episode)


def _takes_over(new: Episode, other: Episode) -> bool:
    """Whether the fault that just opened explains one that was open before."""
    if other.root is not None:
        near = abs(new.started_ms - other.last_ms) <= MERGE_MS
        return near and new.strength > other.strength and _follows(other.strength, new)
    if other.fault_class == recovery.CLASS:
        return True
    if other.fault_class == MISSING_CLASS:
        return new.root == OFF_THE_BUS
    return other.fault_class == REMAP_PENDING_CLASS and new.root in MEMORY


def _join(
    draft: Draft, episode: Episode, line: XidLogged, at: int, action: XidAction | None, strength: Strength
) -> None:
    """One more occurrence of an open fault, by its own code or by one that follows it."""
    changes: dict[str, object] = {
        "first_ms": min(episode.first_ms, at),
        "last_ms": episode.last_ms if line.code in NEVER_ROOT else max(episode.last_ms, at),
        "count": episode.count + line.count,
    }
    if line.code not in episode.codes:
        changes["codes"] = (*episode.codes, line.code)
    if line.code not in episode.codes or len(episode.evidence) < MAX_EVIDENCE // 2:
        changes["evidence"] = (*episode.evidence, draft.evidence(line.text))[:MAX_EVIDENCE]
    if line.code == episode.root:
        changes["started_ms"] = min(episode.started_ms, at) if episode.told is None else episode.started_ms
        if strength > episode.strength:
            changes |= {"action": action, "strength": strength}
    draft.put(episode, **changes)


def _cancel(draft: Draft, place: Place, code: int, at: int) -> None:
    episode = draft.get(place, class_of(code))
    if episode is not None and at >= episode.last_ms:
        draft.close(episode, "the driver says that the condition has ended")
