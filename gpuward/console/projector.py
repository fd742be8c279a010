"""The projector: ledger, inventory and policy in, records and `fleet.entities.v1` out. It alone writes both.

It has no consumer group. Law: the position of each partition is written in the transaction that writes what was read up
to it, and `fleet.entities.v1` is acknowledged before; killed on any line it reads again what it had not finished, and
folding that again changes nothing (`fold.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from gpuward.console.fold import Item, fold, touches
from gpuward.console.unreadable import Unreadable, read
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.envelope import Envelope
from gpuward.contracts.errors import Permanent, Transient
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Outcome
from gpuward.contracts.topics import ENTITIES, INVENTORY, INVENTORY_CHANGES, OUTCOMES, POLICY
from gpuward.runtime import logging, metrics
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Producer, consumer
from gpuward.runtime.records import Records
from gpuward.runtime.settings import Settings
from streams.dead_letters import DeadLetters

READS = (OUTCOMES, INVENTORY_CHANGES, INVENTORY, POLICY)
SOURCE = "gpuward/projector"
_BATCH = 500
_PAUSE_S = 0.5
_NEVER = datetime.fromtimestamp(0, UTC)
_LAG_LIMIT = 20_000
"""Records not yet folded beyond which the projector says that it is not healthy."""


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """Folds until `stop`. Waits for Kafka and for the records however long they are away; loses nothing meanwhile."""
    records = Records(settings.records)
    producer = Producer(settings, "gpuward-projector")
    try:
        if not await _patiently(lambda: asyncio.to_thread(records.create), stop, health):
            return
        if not await _patiently(producer.start, stop, health):
            return
        reader = consumer(settings, "gpuward-projector", *READS)
        await reader.start()
        try:
            await _seek(reader, records)
            health.ready = True
            await Projector(records, producer, reader, health).run(stop)
        finally:
            await reader.stop()
    finally:
        with contextlib.suppress(Exception):  # it may never have started
            await producer.stop()
        records.close()


class Projector:
    """One loop: read a batch, fold it, write it whole."""

    def __init__(self, records: Records, producer: Producer, reader: Any, health: Health) -> None:
        self._records, self._producer, self._reader, self._health = records, producer, reader, health
        self._letters = DeadLetters(producer, by="projector")
        self._log = logging.get("projector")
        self._following: dict[tuple[str, int], int] = {}
        self._lag: dict[str, int] = {}
        health.add("lag", self._behind)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; a batch that was begun is finished first, unless the world stays away."""
        while not stop.is_set():
            polled = await self._reader.getmany(timeout_ms=500, max_records=_BATCH)
            batch = [record for part in polled.values() for record in part]
            if batch:
                await _patiently(partial(self.take, batch), stop, self._health)
            self._measure()

    async def take(self, batch: Sequence[Any]) -> None:
        """Folds and writes one batch. Raises Transient when Kafka or the records do not take it: then nothing is lost."""
        items: list[Item] = []
        outcomes: list[tuple[Outcome, int, int]] = []
        for record in batch:
            try:
                item = read(record)
            except Unreadable as error:
                await self._bury(record, error)
                continue
            if item is None:
                continue
            items.append(item)
            if isinstance(item, Outcome):
                outcomes.append((item, record.partition, record.offset))
        before = await self._before(items)
        after = fold(before, items, await self._known(outcomes))
        changed = [record for entity, record in after.items() if record != before.get(entity)]
        await asyncio.gather(*(self._publish(record) for record in changed))
        following = {(record.topic, record.partition): record.offset + 1 for record in batch}
        await self._records.fold(changed, outcomes, following)
        self._following |= following

    async def _before(self, items: Sequence[Item]) -> dict[Entity, EntityRecord]:
        wanted = sorted({entity for item in items for entity in touches(item)})
        found = [await self._records.entity(entity) for entity in wanted]
        return {record.entity: record for record in found if record is not None}

    async def _known(self, outcomes: Sequence[tuple[Outcome, int, int]]) -> set[str]:
        """Ids among these that were folded before: an append is repeated where its acknowledgement was lost."""
        if not outcomes:
            return set()
        since = min(int(outcome.time.timestamp() * 1000) for outcome, _, _ in outcomes)
        entities = sorted({str(outcome.entity) for outcome, _, _ in outcomes})
        return {old.id for old, _, _ in await self._records.outcomes(entities, since_ms=since, limit=1_000_000)}

    async def _publish(self, record: EntityRecord) -> None:
        time = record.updated or _NEVER
        envelope = Envelope(id=f"{record.entity}@{time.isoformat()}", type="gpuward.entity", source=SOURCE, time=time)
        try:
            await self._producer.send(
                ENTITIES, key=str(record.entity).encode(), value=record.to_json(), headers=envelope.to_headers()
            )
        except Permanent:
            self._log.exception(
                "an entity's record is too large for Kafka and is kept in the records only", entity=record.entity
            )

    async def _bury(self, record: Any, error: Unreadable) -> None:
        self._log.warning(
            "a record cannot be read", topic=record.topic, partition=record.partition, offset=record.offset
        )
        await self._letters.write(record, reason="unreadable", text=str(error))

    def _measure(self) -> None:
        self._lag = dict.fromkeys(READS, 0)
        for place in self._reader.assignment():
            following = self._following.get((place.topic, place.partition))
            if following is not None:
                self._lag[place.topic] += max(0, (self._reader.highwater(place) or 0) - following)
        for topic, behind in self._lag.items():
            metrics.gauge("gpuward_projector_lag_records").labels(topic).set(behind)

    def _behind(self) -> str | None:
        behind = sum(self._lag.values())
        return f"the projector is {behind} records behind" if behind > _LAG_LIMIT else None


async def _seek(reader: Any, records: Records) -> None:
    """Where the records say that reading stopped; a partition never read starts at its beginning."""
    following = {topic: await records.positions(topic) for topic in READS}
    for place in reader.assignment():
        if place.partition in following[place.topic]:
            reader.seek(place, following[place.topic][place.partition])


async def _patiently(attempt: Callable[[], Awaitable[object]], stop: asyncio.Event, health: Health) -> bool:
    """Tries until it succeeds (True) or `stop` is set (False); meanwhile the health page says what is away."""
    away: list[str] = []
    health.add("world", lambda: away[0] if away else None)
    while True:
        try:
            await attempt()
        except (Transient, SQLAlchemyError) as error:
            away[:] = [str(error)]
        else:
            away.clear()
            return True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _PAUSE_S)
        if stop.is_set():
            return False
