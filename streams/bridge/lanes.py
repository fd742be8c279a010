"""Per-entity lanes: order is kept within one, nothing waits between two, and what waits together travels together. Pure.

A lane is the entity that a record's key names. While one send of a lane is in flight, its later records wait, and leave as
one batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Generic, TypeVar

from gpuward.contracts.identity import Entity

MAX_RECORDS = 100
MAX_BYTES = 16 * 1024
"""Source: `temporal-rules.md` 14. A single larger message travels alone."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Waiting(Generic[T]):
    """A message on its way: whose order it keeps, whose actor it is for, and the ticket that is acknowledged for it."""

    lane: Entity
    target: Entity
    message: dict[str, Any]
    size: int
    ticket: T


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """What leaves as one signal: the oldest waiting messages of one lane, in order, all for one actor."""

    lane: Entity
    target: Entity
    items: tuple[Waiting[T], ...]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [item.message for item in self.items]


class Lanes(Generic[T]):
    """Law: at most one batch per lane is out at any time, and a lane's messages leave in the order they were added."""

    def __init__(self, max_records: int = MAX_RECORDS, max_bytes: int = MAX_BYTES) -> None:
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._waiting: dict[Entity, deque[Waiting[T]]] = {}
        self._ready: deque[Entity] = deque()
        self._out: set[Entity] = set()

    def add(self, item: Waiting[T]) -> None:
        """The newest message of its lane."""
        queue = self._waiting.get(item.lane)
        if queue is not None:
            queue.append(item)
            return
        self._waiting[item.lane] = deque((item,))
        if item.lane not in self._out:
            self._ready.append(item.lane)

    def take(self) -> Batch[T] | None:
        """The next batch, first come first served over lanes; None when no lane has something that may leave."""
        if not self._ready:
            return None
        lane = self._ready.popleft()
        queue = self._waiting[lane]
        items = [queue.popleft()]
        size = items[0].size
        while queue and len(items) < self._max_records:
            following = queue[0]
            if following.target != items[0].target or size + following.size > self._max_bytes:
                break
            size += following.size
            items.append(queue.popleft())
        if not queue:
            del self._waiting[lane]
        self._out.add(lane)
        return Batch(lane, items[0].target, tuple(items))

    def done(self, lane: Entity) -> None:
        """The lane's batch has ended; its next one may leave. Raises KeyError when none was out."""
        self._out.remove(lane)
        if lane in self._waiting:
            self._ready.append(lane)

    def cut(self, keep: Callable[[Waiting[T]], bool]) -> None:
        """Forgets, in each lane, the first waiting message that is not kept and all after it. What is out is not touched."""
        for lane, queue in list(self._waiting.items()):
            kept = deque(takewhile(keep, queue))
            if kept:
                self._waiting[lane] = kept
            else:
                del self._waiting[lane]
        self._ready = deque(lane for lane in self._ready if lane in self._waiting)

    def clear(self) -> None:
        """Forgets all that waits."""
        self.cut(lambda _: False)

    @property
    def idle(self) -> bool:
        return not self._waiting and not self._out
