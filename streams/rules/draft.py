"""One node's view while one record is worked on, and the faults that come of it.

Rules open, fold and close episodes on the draft; `finish` then says once what became of each. So a fault that was opened
and folded into a stronger root within one batch is never told.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gpuward.contracts.faults import MAX_EVIDENCE, Evidence, Fault
from gpuward.contracts.inventory import MergedNode, merge
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat
from streams.rules.context import Context, Facts
from streams.rules.seats import seat_of
from streams.rules.seen import Seen
from streams.rules.telling import FOLDED, Teller
from streams.rules.view import Episode, NodeView, Place

MAX_REPAIRED = 64
_TEXT = 200


class Draft:
    """Mutable, and never leaves the reducer."""

    def __init__(self, view: NodeView, context: Context) -> None:
        self.view, self.context = view, context
        self.open = dict(view.open)
        self.maps, self.sessions, self.repaired = view.maps, view.sessions, view.repaired
        self.sampled_ms, self.boot_id, self.boot_ms = view.sampled_ms, view.boot_id, view.boot_ms
        self.inventory, self.seats = view.inventory, view.seats
        self.seen = Seen(view.ids, view.ranges, context)
        self.changed = False
        self._closed: list[tuple[Episode, str]] = []

    @cached_property
    def merged(self) -> MergedNode | None:
        return merge(self.inventory.values(), self.context.pools)

    def seat(self, place: Place) -> Seat:
        return seat_of(self.view.node, self.merged, self.seats, place.entity, place.slot)

    def at(self, place: Place) -> list[Episode]:
        """The open episodes of this place."""
        return [episode for episode in self.open.values() if episode.place == place]

    def get(self, place: Place, fault_class: str) -> Episode | None:
        return self.open.get(f"{place.key}|{fault_class}")

    def judge(self, place: Place, facts: Facts) -> Verdict:
        return self.context.classify(facts, self.seat(place))

    def verdict(self, episode: Episode) -> Verdict:
        """What policy says of the episode as it stands."""
        facts = Facts(
            episode.fault_class, episode.entity, episode.codes, episode.count, episode.recovery_action, episode.action
        )
        return self.judge(episode.place, facts)

    def put(self, episode: Episode, **changes: Any) -> Episode:
        """Opens the episode, or replaces it."""
        if changes:
            episode = episode.model_copy(update=changes)
        self.open[episode.key] = episode
        self.changed = True
        return episode

    def close(self, episode: Episode, because: str) -> None:
        """Clears it, once."""
        self.open.pop(episode.key, None)
        self._closed.append((episode, because))
        self.changed = True

    def fold(self, episode: Episode, into: Episode) -> Episode:
        """Clears `episode`, and lets `into` carry what it knew. Gives `into` as it is then."""
        self.close(episode, f"{FOLDED}{into.fault_class} on {into.entity}")
        recovery = max((episode, into), key=lambda one: one.recovery_ms)
        return self.put(
            into,
            first_ms=min(into.first_ms, episode.first_ms),
            last_ms=max(into.last_ms, episode.last_ms),
            count=into.count + episode.count,
            codes=tuple(dict.fromkeys((*episode.codes, *into.codes))),
            recovery_action=recovery.recovery_action,
            recovery_ms=recovery.recovery_ms,
            evidence=(*episode.evidence, *into.evidence)[:MAX_EVIDENCE],
        )

    def prove_repaired(self, place: Place, at_ms: int) -> None:
        """What is said to have happened there before is history from now on."""
        kept = {key: at for key, at in self.repaired.items() if key != place.key}
        self.repaired = dict([*kept.items(), (place.key, at_ms)][-MAX_REPAIRED:])
        self.changed = True

    def evidence(self, text: str) -> Evidence:
        context = self.context
        return Evidence(topic=context.topic, partition=context.partition, offset=context.offset, text=text[:_TEXT])

    def finish(self) -> tuple[NodeView, list[Fault]]:
        """The new view (the very same object where nothing changed) and what the world is told, clears first."""
        reseated = self.inventory is not self.view.inventory
        teller = Teller(self.context, self.verdict, self.seat, reseated, self.boot_id)
        faults = [fault for episode, because in self._closed for fault in teller.closed(episode, because)]
        for episode in list(self.open.values()):
            if told := teller.standing(episode):
                self.put(told[0])
                faults.append(told[1])
        return (self._view() if self.changed or self.seen.changed else self.view), faults

    def _view(self) -> NodeView:
        return NodeView.model_construct(
            node=self.view.node,
            boot_id=self.boot_id,
            boot_ms=self.boot_ms,
            open=self.open,
            ids=self.seen.ids,
            ranges=self.seen.ranges,
            maps=self.maps,
            sessions=self.sessions,
            repaired=self.repaired,
            sampled_ms=self.sampled_ms,
            inventory=self.inventory,
            seats=self.seats,
        )
