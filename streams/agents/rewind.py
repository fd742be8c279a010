"""From where a partition is read on assignment: before what was committed, by a bounded overlap.

A committed offset was seen to pass records in flight; so the overlap is the larger of so many records and so much time,
and never begins after the offset that the views themselves say is done. Ids make re-reading harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from faust.types import TP

from gpuward.contracts.topics import OBSERVATIONS
from gpuward.runtime.settings import Settings
from streams.agents.contiguity import Contiguity

Place = Callable[[int], tuple[int, int] | None]
"""Partition → watermark in ms and the next offset that is not done, as last written."""


class Rewind:
    """Called by the transport with all source partitions that are assigned."""

    def __init__(self, consumer: Any, settings: Settings, place: Place, contiguity: Contiguity) -> None:
        self._consumer = consumer
        self._records = settings.streams_partitions_overlap_records
        self._seconds = settings.streams_overlap_s
        self._place = place
        self._contiguity = contiguity

    async def __call__(self, committed: Mapping[TP, int | None]) -> dict[TP, int]:
        """The offset to read each from."""
        starts = await self._consumer.log_starts(committed)
        places = {tp: place for tp in committed if tp.topic == OBSERVATIONS and (place := self._place(tp.partition))}
        overlap_ms = round(self._seconds * 1000)
        since = {tp: max(0, watermark_ms - overlap_ms) for tp, (watermark_ms, _) in places.items()}
        by_time = await self._consumer.offsets_for_times(since) if since else {}
        return {tp: self._target(tp, starts[tp], at, places.get(tp), by_time.get(tp)) for tp, at in committed.items()}

    def _target(
        self, tp: TP, start: int, committed: int | None, place: tuple[int, int] | None, by_time: int | None
    ) -> int:
        bounds = [committed - self._records if committed else start]
        bounds += [place[1]] if place else []
        bounds += [by_time] if by_time is not None else []
        target = max(start, min(bounds))
        if tp.topic == OBSERVATIONS:
            # What retention took before it was worked on is a gap, though one that ends at the log start.
            self._contiguity.begin(tp.partition, min(target, place[1]) if place else target)
        return target
