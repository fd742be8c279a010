"""The thin Faust shell of `detect`: records of observations and inventory, one at a time, into the detector."""

from __future__ import annotations

from typing import Any

import faust

from gpuward.contracts.topics import INVENTORY, OBSERVATIONS
from gpuward.runtime.settings import Settings
from streams.agents.app import TableStore, table, topic
from streams.agents.contiguity import Contiguity
from streams.agents.detector import Detector, Rules
from streams.agents.publish import Publisher
from streams.agents.record import Record
from streams.agents.store import Views
from streams.agents.supervised import Supervised

VIEWS = "views"


class Detect:
    """What the worker needs to know of the agent: its views for the rewind, and what to forget at a rebalance."""

    def __init__(
        self, app: faust.App, publisher: Publisher, rules: Rules, supervised: Supervised, contiguity: Contiguity
    ) -> None:
        self.views = Views(TableStore(table(app, VIEWS)))
        self._detector = Detector(self.views, publisher, rules)
        self._contiguity = contiguity

        async def detect(stream: Any) -> None:
            async for event in stream.events():
                await supervised(self._take, record_of(event.message))

        app.agent(topic(app, OBSERVATIONS, INVENTORY), name="detect", concurrency=1)(detect)

    async def _take(self, record: Record) -> None:
        if record.topic == OBSERVATIONS:
            await self._contiguity.check(record.partition, record.offset)
        await self._detector(record)

    def forget(self, partitions: set[int]) -> None:
        """These partitions are somebody else's now."""
        for partition in partitions:
            self._detector.forget(partition)
            self._contiguity.forget(partition)


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
