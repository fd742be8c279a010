"""Where a record goes that nobody can use, with the reason, and where it lay: `gpuward dlq list` shows it.

The letter is the record itself, key, value and headers unchanged, under headers that begin with `gpuward-dead-`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuward.contracts.errors import Permanent
from gpuward.contracts.topics import DEAD_LETTERS
from gpuward.runtime import metrics
from streams.record import Record

if TYPE_CHECKING:
    from gpuward.runtime.kafka import Producer

PREFIX = "gpuward-dead-"
MOST_BYTES = 900_000
"""Kafka would refuse a larger value, and a refusal costs the producer: so it is not even tried."""
KEPT_BYTES = 200_000
"""Of a value that is over the dead letters' own limit, so much of its beginning is kept."""
_TEXT = 500


class DeadLetters:
    """`by` names the part that gave up. Reasons are words: `unreadable`, `misplaced`, `refused`, …"""

    def __init__(self, producer: Producer, by: str = "streams") -> None:
        self._producer = producer
        self._by = by

    async def write(self, record: Record, *, reason: str, text: str = "") -> None:
        """Returns once Kafka keeps it. Raises Transient while it cannot."""
        said = {
            "topic": record.topic,
            "partition": str(record.partition),
            "offset": str(record.offset),
            "reason": reason,
            "detail": text[:_TEXT],
            "by": self._by,
        }
        marks = [(f"{PREFIX}{name}", value.encode()) for name, value in said.items()]
        key, size = record.key or b"", len(record.value or b"")
        cut = [*marks, (f"{PREFIX}cut-from-bytes", str(size).encode())]
        beginning = (record.value or b"")[:KEPT_BYTES]
        if size <= MOST_BYTES:
            try:
                await self._producer.send(DEAD_LETTERS, key=key, value=record.value, headers=[*record.headers, *marks])
            except Permanent:
                await self._producer.send(DEAD_LETTERS, key=key[:1000], value=beginning, headers=cut)
        else:
            await self._producer.send(DEAD_LETTERS, key=key[:1000], value=beginning, headers=cut)
        metrics.counter("gpuward_dead_letters_total").labels(record.topic, reason).inc()
