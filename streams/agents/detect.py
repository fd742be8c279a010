"""The thin Faust shell of `detect`: records of observations and inventory, one at a time, into the detector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import faust

from gpuward.contracts.topics import INVENTORY, OBSERVATIONS
from gpuward.runtime.settings import Settings
from streams.agents.app import TableStore, table, topic
from streams.agents.contiguity import Contiguity
from streams.agents.detector import Detector, Rules
from streams.agents.record import Record
from streams.agents.store import Views
from streams.agents.supervised import Supervised

VIEWS = "views"
GROUP = 200
"""Records that are worked on together, at most: one acknowledgement is waited for, and so much is read again."""


class Detect:
    """What the worker needs to know of the agent: its views for the rewind, and what to forget at a rebalance."""

    def __init__(
        self,
        app: faust.App,
        detector: Callable[[Views], Detector],
        supervised: Supervised,
        contiguity: Contiguity,
    ) -> None:
        self._app = app
        self.views = Views(TableStore(table(app, VIEWS)))
        self._detector = detector(self.views)
        self._contiguity = contiguity

        async def detect(stream: Any) -> None:
            async for events in waiting(stream):
                current = [event for event in events if self._is_ours(event.message)]
                if current:
                    await supervised(self._take, [record_of(event.message) for event in current])
                for event in current:
                    event.ack()

        app.agent(topic(app, OBSERVATIONS, INVENTORY), name="detect", concurrency=1)(detect)

    def _is_ours(self, message: Any) -> bool:
        """Fetched before a rebalance, it may be another's now; where it is not, it is read again."""
        return bool(message.generation_id == self._app.consumer_generation_id)

    async def _take(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.topic == OBSERVATIONS:
                await self._contiguity.check(record.partition, record.offset)
        await self._detector(records)

    def forget(self, partitions: set[int]) -> None:
        """These partitions are somebody else's now."""
        for partition in partitions:
            self._detector.forget(partition)
            self._contiguity.forget(partition)


async def waiting(stream: Any) -> AsyncIterator[list[Any]]:
    """The events that wait, as one list of at most `GROUP`; acknowledged by whoever takes them."""
    manual = stream.noack()
    group: list[Any] = []
    async for event in manual.events():
        group.append(event)
        if len(group) >= GROUP or manual.channel.queue.empty():
            yield group
            group = []


def record_of(message: Any) -> Record:
    """A Faust message as a record."""
    headers = message.headers or ()
    pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
    return Record(message.topic, message.partition, message.offset, message.key, message.value, pairs)


def rules_of(settings: Settings, classify: Any) -> Rules:
    """What the settings and the policy say of the rules."""
    return Rules(
        classify=classify,
        pools=classify.policy.selectors,
        overlap_records=settings.streams_partitions_overlap_records,
        overlap_s=settings.streams_overlap_s,
        silent_after_s=settings.streams_silent_after_s,
    )
