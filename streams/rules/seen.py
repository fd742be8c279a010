"""Exact dedupe of discrete observations: membership in a set, never `newer than the last`.

A kernel line is known by its sequence number, a collapsed one by its range, per boot and per what the line says; anything
else by eight bytes of its id. Both are kept for twice the overlap that a restart re-reads.

Law: an observation fed twice is news once, however the second reading is cut into batches.
"""

from __future__ import annotations

from gpuward.contracts.observations import Observation, XidLogged
from streams.rules.context import Context, to_ms
from streams.rules.view import Ranges

MAX_SPANS = 64
"""Older spans of one kind of line are joined: a kernel log is read in order, so nothing new lies between them."""


def signature(observation: Observation, boot_id: str) -> str:
    """What distinguishes lines whose sequence ranges may interleave: boot, kind, code, device and what the line carries."""
    parts: list[object] = [
        boot_id,
        observation.kind,
        getattr(observation, "code", ""),
        getattr(observation, "device", ""),
    ]
    if isinstance(observation, XidLogged):
        parts += [observation.recovery_to, observation.reset_required, observation.drain_reset_required]
        parts += [observation.unit, *observation.registers[:2]]
    return "|".join("" if part is None else str(part) for part in parts)


def covered(spans: tuple[tuple[int, int], ...], first: int, last: int) -> bool:
    """Whether every number of first..last was seen."""
    if not spans or first > spans[-1][1]:
        return False
    return any(low <= first and last <= high for low, high in spans)


def with_span(spans: tuple[tuple[int, int], ...], first: int, last: int) -> tuple[tuple[int, int], ...]:
    """The spans with first..last in them, joined where they touch, the oldest two joined where there are too many."""
    if spans and first > spans[-1][1]:
        # In order, as a kernel log is read: the last span grows, or a new one follows it.
        low, high = spans[-1]
        spans = (*spans[:-1], (low, last)) if first == high + 1 else (*spans, (first, last))
        return spans if len(spans) <= MAX_SPANS else ((spans[0][0], spans[1][1]), *spans[2:])
    joined: list[tuple[int, int]] = []
    for low, high in sorted([*spans, (first, last)]):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    while len(joined) > MAX_SPANS:
        joined[:2] = [(joined[0][0], joined[1][1])]
    return tuple(joined)


class Seen:
    """The ids and ranges of one view while a batch is worked on; copies on the first write."""

    def __init__(self, ids: dict[str, tuple[int, int]], ranges: dict[str, Ranges], context: Context) -> None:
        self.ids, self.ranges, self.changed = ids, ranges, False
        self._context = context

    def news(self, observation: Observation, boot_id: str) -> bool:
        """Whether this is seen for the first time; it is remembered then."""
        at = to_ms(observation.time)
        if observation.sequence is not None:
            return self._in_range(signature(observation, boot_id), *observation.sequence, at)
        key = observation.id[:16]
        if key in self.ids:
            return False
        self._own()
        self.ids[key] = (at, self._context.offset)
        return True

    def _in_range(self, key: str, first: int, last: int, at: int) -> bool:
        known = self.ranges.get(key) or Ranges()
        if covered(known.spans, first, last):
            return False
        self._own()
        self.ranges[key] = Ranges(with_span(known.spans, first, last), max(at, known.at_ms), self._context.offset)
        return True

    def _own(self) -> None:
        if not self.changed:
            self.ids, self.ranges, self.changed = dict(self.ids), dict(self.ranges), True
            self._forget()

    def _forget(self) -> None:
        """Drops what no restart can re-read any more: older than twice the overlap both in time and in records."""
        oldest = self._context.now_ms - 2000 * self._context.overlap_s
        first = self._context.offset - 2 * self._context.overlap_records
        self.ids = {k: v for k, v in self.ids.items() if v[0] >= oldest or v[1] >= first}
        self.ranges = {k: v for k, v in self.ranges.items() if v.at_ms >= oldest or v.offset >= first}
