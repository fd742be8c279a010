"""Stands in for the dead letters: writes the record to their topic, with its reason."""

from __future__ import annotations

from gpuward.contracts.topics import DEAD_LETTERS
from gpuward.runtime.kafka import Producer


class WrittenDown:
    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    async def write(self, record, *, reason: str, text: str) -> None:
        marks = [("reason", reason.encode()), ("text", text.encode()), ("topic", record.topic.encode())]
        await self._producer.send(
            DEAD_LETTERS, key=record.key or b"", value=(record.value or b"")[:1000], headers=marks
        )
