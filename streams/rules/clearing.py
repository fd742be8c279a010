"""When a fault ends: a repair was proven, or nothing more was heard of something that only informed.

A repair is proven by a newer sample in which the GPU answers and asks for nothing, under another driver session or
another boot than the fault's. NVML has no event for `reset done`, so this is inferred (`gpu-health-rules` §1).
"""

from __future__ import annotations

from streams.rules import recovery
from streams.rules.context import Context
from streams.rules.decoding import quiet_ms
from streams.rules.draft import Draft
from streams.rules.view import Episode, Place

SILENT_CLASS = "node.silent"


def prove(draft: Draft, place: Place, at: int, boot_id: str, session: str) -> None:
    """This place answers and asks for nothing at `at`, under this boot and driver session (empty: not known)."""
    for episode in draft.at(place):
        if episode.root is None and episode.fault_class != recovery.CLASS:
            continue
        if at <= episode.last_ms:
            continue
        if because := _new_life(episode, boot_id, session):
            draft.close(episode, because)
            draft.prove_repaired(place, at)
        elif session and not episode.session:
            draft.put(episode, session=session)


def _new_life(episode: Episode, boot_id: str, session: str) -> str:
    """Why the fault belongs to the past, or nothing."""
    if episode.boot_id and boot_id and boot_id != episode.boot_id:
        return "repaired: the node runs under another boot and the GPU asks for nothing"
    if episode.session and session and session != episode.session:
        return "repaired: the driver holds the GPU in another session and it asks for nothing"
    return ""


def expire(draft: Draft, context: Context) -> None:
    """Ends what disturbs nothing and was not heard of for its quiet time."""
    for episode in list(draft.open.values()):
        quiet = episode.root is not None and context.now_ms - episode.last_ms > quiet_ms(episode.codes)
        if quiet and not draft.verdict(episode).remedy.disturbs:
            draft.close(episode, "quiet")
