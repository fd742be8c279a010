"""What the bridge says of itself: lag, age, latency, and whether it is healthy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from gpuward.runtime import metrics
from gpuward.runtime.kafka import TopicPartition
from streams.bridge.offsets import Progress

TOO_OLD_S = 60.0


class Gauges:
    """Law: a lagging bridge is not healthy. Lagging: a record was read and is not acknowledged after `TOO_OLD_S`."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._records = metrics.counter("gpuward_bridge_records_total")
        self._latency = metrics.histogram("gpuward_bridge_latency_seconds")
        self._lag = metrics.gauge("gpuward_bridge_lag_records")
        self._oldest = metrics.gauge("gpuward_bridge_oldest_seconds")
        self._progress: Mapping[TopicPartition, Progress] = {}
        self._oldest.set_function(self.oldest)

    def watch(self, progress: Mapping[TopicPartition, Progress]) -> None:
        """These partitions are ours from now on; the earlier ones are somebody else's to speak of."""
        for where in self._progress:
            if where not in progress:
                with contextlib.suppress(KeyError):  # its lag was never known
                    self._lag.remove(where.topic, str(where.partition))
        self._progress = progress

    def acknowledged(self, topic: str) -> None:
        self._records.labels(topic=topic).inc()

    def delivered(self, record: Any) -> None:
        self._latency.observe(max(0.0, self._now() - record.timestamp / 1000))

    def lag(self, ends: Callable[[TopicPartition], int | None]) -> None:
        """`ends` gives the high-water mark of a partition, where it is known."""
        for where, progress in self._progress.items():
            end, at = ends(where), progress.position
            if end is not None and at is not None:
                self._lag.labels(topic=where.topic, partition=str(where.partition)).set(max(0, end - at))

    def oldest(self) -> float:
        """Age in seconds of the oldest record that was read and is not acknowledged; 0 while idle."""
        times = [oldest for progress in self._progress.values() if (oldest := progress.oldest_s) is not None]
        return max(0.0, self._now() - min(times)) if times else 0.0

    def check(self) -> str | None:
        age = self.oldest()
        if age <= TOO_OLD_S:
            return None
        return (
            f"the oldest record not yet delivered is {age:.0f} s old: see whether Temporal answers and its actors run"
        )
