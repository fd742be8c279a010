"""The thin Faust shell of `roll_up`: two agents, one re-keys by rack, one rolls up by rack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import faust

from gpuward.contracts.topics import FAULTS, FAULTS_BY_RACK, INVENTORY_CHANGES
from gpuward.runtime import metrics
from streams.agents.app import TableStore, table, topic
from streams.agents.detect import record_of
from streams.agents.publish import Publisher
from streams.agents.record import Record, Unusable
from streams.agents.roller import Rekey, Roller
from streams.agents.supervised import Body, Supervised
from streams.dead_letters import DeadLetters
from streams.rules.context import Classify

RACKS = "racks"


def add(app: faust.App, publisher: Publisher, letters: DeadLetters, classify: Classify, supervised: Supervised) -> None:
    """Registers both agents."""
    rekey = Rekey(publisher)
    roller = Roller(TableStore(table(app, RACKS)), publisher, classify)

    def one_by_one(work: Callable[[Record], Awaitable[None]]) -> Body:
        async def body(records: Sequence[Record]) -> None:
            for record in records:
                try:
                    await work(record)
                except Unusable as wrong:
                    await letters.write(record, reason=wrong.reason, text=str(wrong))
                metrics.counter("gpuward_streams_records_total").labels(record.topic).inc()

        return body

    async def by_rack(stream: Any) -> None:
        async for event in stream.events():
            await supervised(one_by_one(rekey), [record_of(event.message)])

    async def racks(stream: Any) -> None:
        async for event in stream.events():
            await supervised(one_by_one(roller), [record_of(event.message)])

    app.agent(topic(app, FAULTS), name="by_rack", concurrency=1)(by_rack)
    app.agent(topic(app, FAULTS_BY_RACK, INVENTORY_CHANGES), name="racks", concurrency=1)(racks)
