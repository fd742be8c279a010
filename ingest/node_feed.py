"""One node's observations on their way from its source to its batches. Pure but for its own memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from gpuward.contracts.identity import NodeId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import NodeSample, Observation, ObservationBatch
from ingest.collapse import collapse
from ingest.collectors.protocol import KernelLine, Seen
from ingest.delta import FULL_EVERY, DeltaEncoder
from ingest.normalise import KernelLogReader

MOST_PER_BATCH = 500
"""Observations in one record: far below the topic's largest record, whatever the texts."""
_READERS = 4
"""Boots whose half-read messages are remembered; lines of older ones can only be late."""


class NodeFeed:
    """Reads kernel lines, thins samples out, collapses repeats, numbers the batches, and knows the last inventory."""

    def __init__(self, node: NodeId, *, full_every: timedelta = FULL_EVERY) -> None:
        self.node = node
        self._readers: dict[str, KernelLogReader] = {}
        self._samples = DeltaEncoder(full_every)
        self._boot_id = ""
        self._seq = 0
        self._inventory: NodeInventory | None = None

    def batches(
        self, seen: Iterable[Seen], *, boot_id: str, now: datetime, full: bool = False
    ) -> list[ObservationBatch]:
        """At least one, empty where nothing was seen: it says that the node is alive."""
        if boot_id != self._boot_id:
            self._boot_id, self._seq = boot_id, 0
        observations = collapse(self._observed(seen, full=full))
        parts = [observations[i : i + MOST_PER_BATCH] for i in range(0, len(observations), MOST_PER_BATCH)] or [[]]
        return [self._batch(part, now) for part in parts]

    def changed(self, inventory: NodeInventory) -> bool:
        """Whether this inventory says something new; remembers it. Its time alone is nothing new."""
        if self._inventory is not None and inventory == self._inventory.model_copy(update={"time": inventory.time}):
            return False
        self._inventory = inventory
        return True

    def _batch(self, observations: list[Observation], now: datetime) -> ObservationBatch:
        self._seq += 1
        return ObservationBatch(
            node=self.node, boot_id=self._boot_id, seq=self._seq, time=now, observations=tuple(observations)
        )

    def _observed(self, seen: Iterable[Seen], *, full: bool) -> Iterable[Observation]:
        for item in seen:
            if isinstance(item, KernelLine):
                yield from self._reader(item.boot_id).feed(item.text, sequence=item.sequence, default_time=item.time)
            elif isinstance(item, NodeSample):
                yield self._samples.encode(item, full=full)
            else:
                yield item

    def _reader(self, boot_id: str) -> KernelLogReader:
        reader = self._readers.get(boot_id)
        if reader is None:
            reader = self._readers[boot_id] = KernelLogReader(boot_id)
            while len(self._readers) > _READERS:
                del self._readers[next(iter(self._readers))]
        return reader
