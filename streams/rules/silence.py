"""Silence: a node of which no batch came for so long, while the others of its partition moved on.

The time is event time, by what the other nodes of the partition have reached, never the wall: after ten minutes without
streams nothing is silent that was not. Many silent at once is the view that is blind, not the nodes that are dead.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from pydantic import Field

from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import FLEET, Entity, NodeId
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat
from streams.rules.clearing import SILENT_CLASS
from streams.rules.context import Context, Facts
from streams.rules.draft import Draft
from streams.rules.telling import Teller
from streams.rules.view import Episode, NodeView, Place

BLIND_CLASS = "telemetry.blind"
BLIND_NODES = 3


class PartitionView(Contract):
    """What is remembered of one partition beside its views. Law: the watermark never goes back."""

    watermark_ms: int = 0
    next_offset: int = 0
    """Of `fleet.observations.v1`: every record before it was worked on and what it caused was acknowledged."""
    heard: dict[NodeId, int] = Field(default_factory=dict)
    """Node → event time in ms of its newest batch."""
    blind: Episode | None = None


class Silence(NamedTuple):
    """Who is silent now; `blind`: too many at once to blame them."""

    nodes: tuple[NodeId, ...]
    blind: bool


def judge(heard: dict[NodeId, int], watermark_ms: int, silent_after_ms: int) -> Silence:
    """Silent is who was not heard for so long before the time that at least half of the others have reached.

    More than half of the nodes, and three at least, that long behind the watermark: blind, and nobody is called silent.
    """
    times = sorted(heard.values())
    behind = bisect_left(times, watermark_ms - silent_after_ms)
    if behind >= BLIND_NODES and behind * 2 > len(times):
        return Silence((), blind=True)
    if len(times) <= 1:
        return Silence((), blind=False)
    reached = times[len(times) // 2]
    return Silence(tuple(node for node, at in heard.items() if at < reached - silent_after_ms), blind=False)


def fell_silent(view: NodeView, last_ms: int, context: Context) -> tuple[NodeView, list[Fault]]:
    """Opens `node.silent` on this node, heard last at `last_ms`; nothing where it is open, or the node was removed."""
    draft = Draft(view, context)
    place = Place(Entity.node(view.node))
    removed = draft.merged is not None and draft.merged.removed
    if not removed and draft.get(place, SILENT_CLASS) is None:
        draft.put(
            Episode(
                entity=place.entity,
                fault_class=SILENT_CLASS,
                started_ms=last_ms,
                first_ms=last_ms,
                last_ms=last_ms,
                boot_id=view.boot_id,
                evidence=(draft.evidence(f"nothing was heard from {view.node} since then"),),
            )
        )
    return draft.finish()


def heard(draft: Draft, at_ms: int) -> None:
    """A batch of this node came: it is not silent."""
    episode = draft.get(Place(Entity.node(draft.view.node)), SILENT_CLASS)
    if episode is not None and at_ms > episode.last_ms:
        draft.close(episode, "heard again")


def blindness(view: PartitionView, silence: Silence, context: Context) -> tuple[PartitionView, list[Fault]]:
    """Raises or clears the one fault that says that this partition's telemetry does not come."""
    if silence.blind == (view.blind is not None):
        return view, []

    def seat(_: Place) -> Seat:
        return Seat(node=NodeId(f"partition-{context.partition}"))

    def verdict(episode: Episode) -> Verdict:
        return context.classify(Facts(episode.fault_class, episode.entity), seat(episode.place))

    teller = Teller(context, verdict, seat, reseated=False)
    if view.blind is not None:
        faults = teller.closed(view.blind, "telemetry comes again")
        return view.model_copy(update={"blind": None}), faults
    behind = [node for node, at in view.heard.items() if at < view.watermark_ms]
    episode = Episode(
        entity=Entity(FLEET),
        fault_class=f"{BLIND_CLASS}.{context.partition}",
        started_ms=view.watermark_ms,
        first_ms=view.watermark_ms,
        last_ms=view.watermark_ms,
        children=tuple(Entity.node(node) for node in behind),
    )
    told = teller.standing(episode)
    assert told is not None
    return view.model_copy(update={"blind": told[0]}), [told[1]]
