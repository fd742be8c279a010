"""What one entity cannot take in now goes to `fleet.parked.v1`: that counts as acknowledged, and alarms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuward.contracts.topics import PARKED, TOPICS
from gpuward.runtime import logging, metrics
from gpuward.runtime.kafka import Producer
from streams.bridge.letters import DeadLetters
from streams.bridge.republish import republish
from streams.record import Record

ORIGIN = "gpuward-parked-from"
"""Header: `<topic>/<partition>/<offset>` of the record as it was read first."""
BECAUSE = "gpuward-parked-because"
_ORIGIN = re.compile(r"([^/]+)/([0-9]+)/([0-9]+)")


@dataclass(frozen=True, slots=True)
class Original:
    """A parked record as it was before."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Park:
    """Writes to the parking topic. Records of one entity are handed in one after the other, in order."""

    def __init__(self, producer: Producer, letters: DeadLetters) -> None:
        self._producer = producer
        self._letters = letters
        self._parked = metrics.counter("gpuward_bridge_parked_total")

    async def park(self, records: Sequence[Record], because: str, *, first: bool) -> list[int | None]:
        """Offsets in the parking topic, once Kafka keeps all; None for one that is a dead letter instead.

        `first`: none of this entity was parked before, so it alarms.
        """

        def marks(record: Record) -> list[tuple[str, bytes]]:
            origin = f"{record.topic}/{record.partition}/{record.offset}"
            return [(ORIGIN, origin.encode()), (BECAUSE, because.encode())]

        offsets = await republish(self._producer, self._letters, lambda _: PARKED, records, marks)
        self._parked.inc(len(records))
        entity = (records[0].key or b"").decode("utf-8", "replace")
        log = logging.get("bridge")
        (log.error if first else log.debug)("parked", entity=entity, records=len(records), because=because)
        return offsets


def partition_of(key: bytes) -> int:
    """Where an entity's parked records lie."""
    return TOPICS[PARKED].partition(key)


def original(parked: Record) -> Original:
    """The record that was parked. Raises ValueError when its origin is missing or makes no sense."""
    origin = next((value.decode() for name, value in parked.headers if name == ORIGIN), "")
    match = _ORIGIN.fullmatch(origin)
    if match is None or match[1] not in TOPICS or not TOPICS[match[1]].for_actors:
        raise ValueError(f"a parked record whose origin is not known: {origin!r}")
    headers = tuple((name, value) for name, value in parked.headers if name not in {ORIGIN, BECAUSE})
    return Original(match[1], int(match[2]), int(match[3]), parked.key, parked.value, headers)
