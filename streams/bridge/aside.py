"""Records that are nobody's message: re-routed once, or set down as dead letters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gpuward.contracts.envelope import REROUTED
from gpuward.runtime import metrics
from gpuward.runtime.kafka import Producer
from streams.bridge.letters import DeadLetters
from streams.bridge.patience import patiently
from streams.bridge.republish import republish
from streams.bridge.route import Unroutable
from streams.record import Record


class Aside:
    """Each call returns once Kafka keeps the records elsewhere; brokers that are away are waited out."""

    def __init__(self, producer: Producer, letters: DeadLetters) -> None:
        self._producer = producer
        self.letters = letters
        self._turn = asyncio.Lock()
        self._rerouted = metrics.counter("gpuward_streams_rerouted_total")

    async def reroute(self, records: Sequence[Record]) -> None:
        """To the partition that their key says, in the order of the calls; the marker header says that it was done."""
        async with self._turn:
            await republish(
                self._producer, self.letters, lambda record: record.topic, records, lambda _: [(REROUTED, b"1")]
            )
        for record in records:
            self._rerouted.labels(topic=record.topic).inc()

    async def dead_letter(self, record: Record, why: Unroutable) -> None:
        await patiently(lambda: self.letters.write(record, reason=why.reason, text=why.text), what="dead letter")
