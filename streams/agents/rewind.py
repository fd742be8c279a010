"""From where a partition is read on assignment: before what was committed, by a bounded overlap.

A committed offset was seen to pass records in flight; so the overlap is the larger of so many records and so much time,
and never begins after the offset that the views themselves say is done. Ids make re-reading harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faust.types import TP

from gpuward.contracts.topics import OBSERVATIONS
from gpuward.runtime.settings import Settings
from streams.agents.contiguity import Contiguity

Place = Callable[[int], tuple[int, int] | None]
"""Partition → watermark in ms and the next offset that is not done, as last written."""


class Rewind:
    """Called by the transport for each source partition that was assigned."""

    def __init__(self, consumer: Any, settings: Settings, place: Place, contiguity: Contiguity) -> None:
        self._consumer = consumer
        self._records = settings.streams_partitions_overlap_records
        self._seconds = settings.streams_overlap_s
        self._place = place
        self._contiguity = contiguity

    async def __call__(self, tp: TP, committed: int | None) -> int:
        """The offset to read from."""
        start = await self._consumer.log_start(tp)
        if not committed:
            target = start
        else:
            target = max(start, min([committed - self._records, *await self._known(tp)]))
        if tp.topic == OBSERVATIONS:
            self._contiguity.begin(tp.partition, target)
        return int(target)

    async def _known(self, tp: TP) -> list[int]:
        """What the views of this partition say: done up to here, and where the time overlap begins."""
        place = self._place(tp.partition) if tp.topic == OBSERVATIONS else None
        if place is None:
            return []
        watermark_ms, done = place
        since = max(0, watermark_ms - round(self._seconds * 1000))
        by_time = (await self._consumer.offsets_for_times({tp: since}))[tp]
        return [done] if by_time is None else [done, by_time]
