"""Writes records to another place in Kafka, unchanged but for headers, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuward.contracts.errors import Permanent
from gpuward.runtime.kafka import Headers, Outgoing, Producer
from streams.bridge.letters import DeadLetters
from streams.bridge.patience import patiently
from streams.record import Record

Marks = Callable[[Record], Headers]
"""The headers to add to a record."""


async def republish(
    producer: Producer, letters: DeadLetters, topic: Callable[[Record], str], records: Sequence[Record], marks: Marks
) -> list[int | None]:
    """Offset of each, once Kafka keeps all; None for one that Kafka will never take there: it is a dead letter.

    Waits out brokers that are away. All records have one key, or their order among themselves is nobody's concern.
    """
    outgoing = [
        Outgoing(topic(record), record.key or b"", record.value, (*record.headers, *marks(record)))
        for record in records
    ]
    try:
        kept = await patiently(lambda: producer.send_all(outgoing), what="republish")
    except Permanent as error:
        if len(records) > 1:
            return [
                offset for record in records for offset in await republish(producer, letters, topic, [record], marks)
            ]
        because = str(error)
        await patiently(lambda: letters.write(records[0], reason="too-large", text=because), what="dead letter")
        return [None]
    return [offset for _, offset in kept]
