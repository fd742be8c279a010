"""What waits for Kafka: bounded in bytes and age, in order per lane. Samples go first, discrete events last."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpuward.contracts.observations import NodeSample, ObservationBatch
from gpuward.runtime import metrics

_DROPPED = metrics.counter("gpuward_publisher_dropped_total")


@dataclass(slots=True, eq=False)
class Record:
    """One Kafka record that waits. `lane` orders: records of one lane are sent one after the other."""

    lane: str
    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    queued: float
    """Monotonic seconds."""
    samples: int = 0
    full: bool = False
    """Whether one of its samples is a full one."""
    discrete: int = 0
    in_flight: bool = False
    gone: bool = False


@dataclass(slots=True)
class Dropped:
    """Counted while brokers were away for too long."""

    samples: int = 0
    discrete: int = 0
    records: int = 0


@dataclass(slots=True)
class Backlog:
    """Law: a discrete event is dropped only when no sample is left to drop and the bytes are still over their limit.

    Where a sample is dropped, so are the deltas behind it, up to the next full sample: they could not be understood.
    """

    max_bytes: int
    max_age_s: float
    bytes: int = 0
    dropped: Dropped = field(default_factory=Dropped)
    broken: set[str] = field(default_factory=set)
    """Lanes whose next sample must be full."""
    _lanes: dict[str, deque[Record]] = field(default_factory=dict)
    _sampled: deque[Record] = field(default_factory=deque)
    _all: deque[Record] = field(default_factory=deque)

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._lanes.values())

    def lanes(self) -> Iterator[str]:
        """Lanes in which something waits."""
        return iter(self._lanes)

    def add(self, record: Record) -> None:
        self._lanes.setdefault(record.lane, deque()).append(record)
        self._all.append(record)
        self.bytes += len(record.value)
        if record.full:
            self.broken.discard(record.lane)
        if not record.samples:
            return
        if record.lane in self.broken:
            self._drop_samples(record)
        else:
            self._sampled.append(record)

    def head(self, lane: str) -> Record | None:
        waiting = self._lanes.get(lane)
        return waiting[0] if waiting else None

    def remove(self, record: Record) -> None:
        """It was sent, refused, replaced or dropped."""
        if record.gone:
            return
        record.gone = True
        self.bytes -= len(record.value)
        lane = self._lanes[record.lane]
        lane.remove(record)
        if not lane:
            del self._lanes[record.lane]
        for order in (self._all, self._sampled):
            while order and order[0].gone:
                order.popleft()

    def trim(self, now: float) -> None:
        """Drops samples that are too old, then, while it is too big, the oldest samples, then the oldest records."""
        while self._sampled and (now - self._sampled[0].queued > self.max_age_s or self.bytes > self.max_bytes):
            oldest = self._sampled.popleft()
            if not oldest.gone and not oldest.in_flight:
                self._drop_samples_from(oldest)
        while self.bytes > self.max_bytes and self._all:
            oldest = self._all.popleft()
            if not oldest.gone and not oldest.in_flight:
                self.dropped.discrete += oldest.discrete
                _DROPPED.labels("discrete").inc(oldest.discrete)
                self.dropped.records += 1
                self.remove(oldest)

    def _drop_samples_from(self, first: Record) -> None:
        lane = list(self._lanes[first.lane])
        for record in lane[lane.index(first) :]:
            if record is not first and record.full:
                return
            if record.samples:
                self._drop_samples(record)
        self.broken.add(first.lane)

    def _drop_samples(self, record: Record) -> None:
        self.dropped.samples += record.samples
        _DROPPED.labels("sample").inc(record.samples)
        record.samples, record.full = 0, False
        if not record.discrete:
            self.dropped.records += 1
            self.remove(record)
            return
        before = len(record.value)
        record.value = without_samples(record.value)
        self.bytes -= before - len(record.value)


def without_samples(value: bytes) -> bytes:
    """The batch, less its samples."""
    batch = ObservationBatch.model_validate_json(value)
    kept = tuple(seen for seen in batch.observations if not isinstance(seen, NodeSample))
    return batch.model_copy(update={"observations": kept}).to_json()
