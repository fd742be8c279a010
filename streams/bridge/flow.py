"""Which partitions rest, and why. A partition is read only while nobody has a reason against it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from gpuward.runtime.kafka import TopicPartition


class Flow:
    """Pauses and resumes partitions of one consumer by named reasons, for as long as they are assigned."""

    def __init__(self, consumer: Any, partitions: Iterable[TopicPartition]) -> None:
        self._consumer = consumer
        self._reasons: dict[TopicPartition, set[Hashable]] = {partition: set() for partition in partitions}

    def hold(self, partition: TopicPartition, reason: Hashable) -> None:
        """The partition rests until this reason, and every other, is gone."""
        reasons = self._reasons.get(partition)
        if reasons is None:
            return
        if not reasons:
            self._consumer.pause(partition)
        reasons.add(reason)

    def release(self, partition: TopicPartition, reason: Hashable) -> None:
        reasons = self._reasons.get(partition)
        if reasons is None or reason not in reasons:
            return
        reasons.remove(reason)
        if not reasons:
            self._consumer.resume(partition)

    def end(self) -> None:
        """The partitions were taken away: nothing is paused or resumed any more."""
        self._reasons.clear()

    @property
    def resting(self) -> int:
        """How many partitions rest."""
        return sum(bool(reasons) for reasons in self._reasons.values())
