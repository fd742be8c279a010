"""Reads a stretch of the parking topic, as often as it takes. It belongs to no group and commits nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any, Self

from gpuward.contracts.topics import PARKED
from gpuward.runtime.kafka import TopicPartition, consumer
from gpuward.runtime.settings import Settings


class Reader:
    """An async context: connected for as long as the block lasts."""

    def __init__(self, settings: Settings) -> None:
        self._consumer = consumer(settings, "gpuward-bridge-redrive")

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._consumer.stop()

    async def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Partition → the offset that its next record will have."""
        wanted = [TopicPartition(PARKED, partition) for partition in partitions]
        found = await self._consumer.end_offsets(wanted) if wanted else {}
        return {partition.partition: offset for partition, offset in found.items()}

    async def between(self, partition: int, start: int, end: int, most: int = 500) -> AsyncIterator[list[Any]]:
        """The records from `start` up to but without `end`, at most `most` at a time.

        What retention has deleted is passed over.
        """
        where = TopicPartition(PARKED, partition)
        if start >= end:
            return
        self._consumer.assign([where])
        self._consumer.seek(where, start)
        while await self._consumer.position(where) < end:
            found = await self._consumer.getmany(where, timeout_ms=250, max_records=most)
            records = [record for record in found.get(where, []) if record.offset < end]
            if records:
                yield records
            await asyncio.sleep(0)
