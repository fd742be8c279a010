"""A chain followed through histories: when each hop took its message in, and how many workflow tasks it spent on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pydantic_core
from temporalio.api.history.v1 import HistoryEvent

from gpuward.console.bench.histories import TASK_DONE, History, came, scheduled, went
from gpuward.contracts.errors import Permanent

Read = Callable[[HistoryEvent], list[dict[str, Any]]]
KINDS = ("fault", "claim", "plan", "ask", "granted")
"""What GPU, node, rack, pool guard and node take in, in this order."""


class Hop(NamedTuple):
    """`at` is when the message was taken in (nanoseconds since 1970); `tasks`, in sequence, until it was answered."""

    at: int
    tasks: int


class Letters(NamedTuple):
    """What a chain really sent: by kind the message, by kind taken in the append, and the first activity's request."""

    sends: dict[str, dict[str, Any]]
    appends: dict[str, dict[str, Any]]


def hops(histories: Sequence[History], mark: str, first: str) -> list[Hop]:
    """The five hops of the chain of `mark` (a fault id, or a floor chain's name), then the child, then its first activity.

    `histories` are of GPU, node, rack, guard, node, child. Raises Permanent where the chain is not in them.
    """
    thread = _Thread(mark)
    found = []
    for events, kind, then in zip(histories, KINDS, [*KINDS[1:], "child"], strict=False):
        at = thread.find(events, 0, came, kind)
        found.append(_hop(events, at, thread.find(events, at, went, then)))
    child = histories[-1]
    begun = _first(child, first)
    found.append(_hop(child, 0, begun))
    started = [e for e in child if e.activity_task_started_event_attributes.scheduled_event_id == begun + 1]
    return [*found, Hop((started or [child[begun]])[0].event_time.ToNanoseconds(), 0)]


def letters(histories: Sequence[History], mark: str, first: str) -> Letters:
    """What the real chain of `mark` sent at each hop: the floor sends the same."""
    thread = _Thread(mark)
    sends: dict[str, dict[str, Any]] = {}
    appends: dict[str, dict[str, Any]] = {}
    for events, kind in zip(histories, KINDS, strict=False):
        at = thread.find(events, 0, came, kind)
        sends[kind] = thread.said(came(events[at]), kind)[0]
        appended = [made[1] for event in events[at:] if (made := scheduled(event)) and made[0] == "ledger.append"]
        if appended:
            appends[kind] = appended[0]
    child = histories[-1]
    born = child[0].workflow_execution_started_event_attributes.input.payloads[0]
    made = scheduled(child[_first(child, first)])
    return Letters(sends | {"child": pydantic_core.from_json(born.data), "first": made[1] if made else {}}, appends)


class _Thread:
    """Tells the messages of one chain from all others: by the fault's id, and from the plan on by the plan's."""

    def __init__(self, mark: str) -> None:
        self._marks = {mark}

    def find(self, events: History, start: int, read: Read, kind: str) -> int:
        """Position of the first event from `start` on that has a message of this kind. Raises Permanent for none."""
        for position in range(start, len(events)):
            if said := self.said(read(events[position]), kind):
                self._marks |= {item["plan"] for item in said if kind == "plan" and "plan" in item}
                return position
        raise Permanent(
            f"The chain broke: no {kind} of {', '.join(self._marks)} is in the history that should have it."
        )

    def said(self, items: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
        """Those of this kind and chain."""
        found = [item for item in items if item.get("kind") == kind]
        return [item for item in found if any(mark in pydantic_core.to_json(item).decode() for mark in self._marks)]


def _first(child: History, first: str) -> int:
    for position, event in enumerate(child):
        if (scheduled(event) or ("",))[0] == first:
            return position
    raise Permanent(f"The chain broke: its child has not begun {first}.")


def _hop(events: History, at: int, left: int) -> Hop:
    return Hop(events[at].event_time.ToNanoseconds(), sum(e.event_type == TASK_DONE for e in events[at:left]))
