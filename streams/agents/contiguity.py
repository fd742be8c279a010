"""Offsets of a partition come one after the other; what comes again after a rewind is welcome, what was skipped is not.

Law: a record that was skipped is never passed in silence. A gap that ends at the log start (retention took the records)
is counted and passed; any other gap ends the process, which then reads again from before it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gpuward.contracts.errors import Transient
from gpuward.runtime import logging, metrics

LogStart = Callable[[str, int], Awaitable[int]]
"""The first offset that a partition still has."""


class Contiguity:
    """Of one topic whose records are neither compacted nor transactional."""

    def __init__(self, topic: str, log_start: LogStart) -> None:
        self._topic = topic
        self._log_start = log_start
        self._next: dict[int, int] = {}

    def begin(self, partition: int, offset: int) -> None:
        """Reading (re)starts here: the next record is this one, or the first that the log still has."""
        self._next[partition] = min(offset, self._next.get(partition, offset))

    def forget(self, partition: int) -> None:
        """Another process reads it now."""
        self._next.pop(partition, None)

    def next_of(self, topic: str, partition: int) -> int | None:
        """The offset that is due; None for what is not read here."""
        return self._next.get(partition) if topic == self._topic else None

    async def check(self, partition: int, offset: int) -> None:
        """Raises Transient on a gap: the world lost records on the way, not the event."""
        expected = self._next.get(partition)
        if expected is not None and offset > expected:
            await self._explain(partition, expected, offset)
        self._next[partition] = offset + 1

    async def _explain(self, partition: int, expected: int, offset: int) -> None:
        if offset > await self._log_start(self._topic, partition):
            raise Transient(
                f"{self._topic}/{partition}: offset {offset} came where {expected} was due; "
                "reading again from before the gap"
            )
        metrics.counter("gpuward_streams_gaps_total").labels(self._topic).inc()
        logging.get("contiguity").error(
            "retention took records before they were read", partition=partition, first=expected, last=offset - 1
        )
