"""The rack rule of `roll_up`: many nodes of one rack silent within a minute are one fault of the rack.

Three nodes or more that are a quarter of the rack at least. The rack fault names its nodes as children, grows with them,
and is cleared when fewer than that are still silent.
"""

from __future__ import annotations

import math

from pydantic import Field

from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity, RackId
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat
from streams.rules.clearing import SILENT_CLASS
from streams.rules.context import Context, Facts, to_ms
from streams.rules.telling import Teller
from streams.rules.view import Episode, Place

CLASS = "rack.nodes_silent"
AT_LEAST = 3
SHARE = 0.25
WINDOW_MS = 60_000
MAX_MEMBERS = 1000


class RackView(Contract):
    """What is remembered of one rack: who is silent since when, and who was ever heard of."""

    silent: dict[str, tuple[str, int]] = Field(default_factory=dict)
    """Node entity → (fault id, silent since in ms)."""
    members: dict[str, int] = Field(default_factory=dict)
    """Node entity → newest event time; from faults and inventory changes alike."""
    last: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Node entity → newest revision seen; what is not newer changes nothing."""
    episode: Episode | None = None


def with_member(view: RackView, node: Entity, at_ms: int, *, removed: bool) -> RackView:
    """The rack with this node in it, or without."""
    known = view.members.get(node, -1)
    if at_ms <= known and not removed:
        return view
    members = {name: at for name, at in view.members.items() if name != node}
    if not removed:
        members[str(node)] = at_ms
    return view.model_copy(update={"members": members})


def take_fault(view: RackView, rack: RackId, fault: Fault, context: Context) -> tuple[RackView, list[Fault]]:
    """One fault of a node in this rack → the rack as it is then, and what is told of it. Pure, idempotent by revision."""
    node = str(fault.entity)
    if fault.fault_class != SILENT_CLASS or tuple(fault.revision) <= view.last.get(node, ()):
        return view, []
    silent = {name: since for name, since in view.silent.items() if name != node}
    if fault.phase != "cleared":
        silent[node] = (fault.fault_id, to_ms(fault.first_seen))
    view = view.model_copy(update={"silent": silent, "last": {**view.last, node: tuple(fault.revision)}})
    return _judge(view, rack, fault, context)


def _judge(view: RackView, rack: RackId, cause: Fault, context: Context) -> tuple[RackView, list[Fault]]:
    children = _together(view)
    teller = _teller(rack, cause, context)
    if view.episode is not None and not children:
        return view.model_copy(update={"episode": None}), teller.closed(view.episode, "fewer nodes are silent")
    if not children:
        return view, []
    first = min(view.silent[str(child)][1] for child in children)
    episode = view.episode or Episode(
        entity=Entity.rack(rack), fault_class=CLASS, started_ms=first, first_ms=first, last_ms=first, count=0
    )
    if set(children) <= set(episode.children):
        return view, []
    grown = episode.model_copy(
        update={
            "children": children,
            "count": len(children),
            "last_ms": max(view.silent[str(child)][1] for child in children),
            "evidence": cause.evidence[:1] if not episode.evidence else episode.evidence,
            "codes": episode.codes,
        }
    )
    told = teller.standing(grown.model_copy(update={"told": None}))
    assert told is not None
    if episode.told is not None:
        told = (told[0], told[1].model_copy(update={"phase": "updated"}))
    return view.model_copy(update={"episode": told[0]}), [told[1]]


def _together(view: RackView) -> tuple[Entity, ...]:
    """The silent nodes, once enough of them fell silent within the window; while the fault is open, as long as enough are."""
    enough = max(AT_LEAST, math.ceil(SHARE * len(view.members.keys() | view.silent.keys())))
    since = sorted(at for _, at in view.silent.values())
    if view.episode is None:
        within = any(since[i + enough - 1] - since[i] <= WINDOW_MS for i in range(len(since) - enough + 1))
        return tuple(Entity(node) for node in sorted(view.silent)) if within else ()
    return tuple(Entity(node) for node in sorted(view.silent)) if len(since) >= enough else ()


def _teller(rack: RackId, cause: Fault, context: Context) -> Teller:
    def seat(_: Place) -> Seat:
        return Seat(node=cause.seat.node, rack=rack, pool=cause.seat.pool, epoch=0)

    def verdict(episode: Episode) -> Verdict:
        return context.classify(Facts(episode.fault_class, episode.entity, count=episode.count), seat(episode.place))

    return Teller(context, verdict, seat, reseated=False)
