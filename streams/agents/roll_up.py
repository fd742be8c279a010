"""The thin Faust shell of `roll_up`: two agents, one re-keys by rack, one rolls up by rack."""

from __future__ import annotations

from typing import Any

import faust

from gpuward.contracts.topics import FAULTS, FAULTS_BY_RACK, INVENTORY_CHANGES
from streams.agents.app import TableStore, table, topic
from streams.agents.detect import record_of
from streams.agents.publish import Publisher
from streams.agents.roller import Rekey, Roller
from streams.agents.supervised import Supervised
from streams.rules.context import Classify

RACKS = "racks"


def add(app: faust.App, publisher: Publisher, classify: Classify, supervised: Supervised) -> None:
    """Registers both agents."""
    rekey = Rekey(publisher)
    roller = Roller(TableStore(table(app, RACKS)), publisher, classify)

    async def by_rack(stream: Any) -> None:
        async for event in stream.events():
            await supervised(rekey, record_of(event.message))

    async def racks(stream: Any) -> None:
        async for event in stream.events():
            await supervised(roller, record_of(event.message))

    app.agent(topic(app, FAULTS), name="by_rack", concurrency=1)(by_rack)
    app.agent(topic(app, FAULTS_BY_RACK, INVENTORY_CHANGES), name="racks", concurrency=1)(racks)
