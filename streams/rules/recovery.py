"""What the driver itself asks for: Xid 154 and the `recovery_action` of samples (NVML field 230).

It belongs to the open Xid faults of the GPU, to each of them; only where none is open is it a fault of its own. Parsed by
number, never by words: 1 is printed as both GPU Reset Required and PF FLR.
"""

from __future__ import annotations

from gpuward.contracts.faults import MAX_EVIDENCE
from streams.rules.decoding import RECOVERY_CHANGED
from streams.rules.draft import Draft
from streams.rules.view import Episode, Place

CLASS = "gpu.recovery_action"


def changed(draft: Draft, place: Place, action: int | None, at: int, boot_id: str, text: str) -> None:
    """Xid 154 or a sample says what the driver wants now (None, an unreadable line, changes nothing)."""
    if action is None:
        return
    roots = [one for one in draft.at(place) if one.root is not None]
    own = draft.get(place, CLASS)
    if not roots and own is None and action:
        _open(draft, place, action, at, boot_id, text)
    for root in roots or ([own] if own is not None else []):
        if at >= root.recovery_ms:
            _change(draft, root, action, at, text)


def share(draft: Draft, place: Place, episode: Episode) -> None:
    """A fault that opens beside another one of the GPU is told what the driver has asked for already."""
    others = [one for one in draft.at(place) if one.root is not None and one.recovery_action is not None]
    newest = max(others, key=lambda one: one.recovery_ms, default=None)
    if newest is not None and newest.recovery_ms > episode.recovery_ms:
        codes = tuple(dict.fromkeys((*episode.codes, RECOVERY_CHANGED)))
        draft.put(episode, recovery_action=newest.recovery_action, recovery_ms=newest.recovery_ms, codes=codes)


def _change(draft: Draft, root: Episode, action: int, at: int, text: str) -> None:
    if root.fault_class == CLASS and action == 0:
        draft.close(root, "the driver asks for nothing any more")
    elif root.recovery_action != action and (action or root.recovery_action):
        _set(draft, root, action, at, text)


def _set(draft: Draft, root: Episode, action: int, at: int, text: str) -> None:
    draft.put(
        root,
        recovery_action=action,
        recovery_ms=at,
        last_ms=max(root.last_ms, at),
        codes=tuple(dict.fromkeys((*root.codes, RECOVERY_CHANGED))),
        evidence=(*root.evidence, draft.evidence(text))[:MAX_EVIDENCE],
    )


def _open(draft: Draft, place: Place, action: int, at: int, boot_id: str, text: str) -> None:
    draft.put(
        Episode(
            entity=place.entity,
            slot=place.slot,
            fault_class=CLASS,
            started_ms=at,
            first_ms=at,
            last_ms=at,
            boot_id=boot_id,
            session=draft.sessions.get(place.entity.name, "") if boot_id == draft.boot_id else "",
            codes=(RECOVERY_CHANGED,),
            recovery_action=action,
            recovery_ms=at,
            evidence=(draft.evidence(text),),
        )
    )
