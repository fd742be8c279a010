"""Reads parked records back and delivers them, in order, once their actor can take them in.

A pass reads a partition from the first record still due to its end, and skips every entity that is, or becomes, full: one
that never recovers holds up nobody else, and memory holds one chunk whatever is parked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from gpuward.contracts.identity import Entity
from gpuward.runtime import logging
from gpuward.runtime.kafka import KafkaError
from streams.bridge.deliver import Deliver
from streams.bridge.lanes import Lanes, Waiting
from streams.bridge.letters import DeadLetters
from streams.bridge.park import original
from streams.bridge.parked import Parked
from streams.bridge.patience import patiently
from streams.bridge.reader import Reader
from streams.bridge.route import Routed, address
from streams.record import Record

LOOK_EVERY_S = 10.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
REOPEN_AT = 0.5
"""An entity is re-driven once it is below this share of its limit."""
_AT_ONCE = 16


class Redrive:
    """The bridge's own reader of `fleet.parked.v1`, for the partitions of one assignment."""

    def __init__(self, parked: dict[int, Parked], deliver: Deliver, letters: DeadLetters) -> None:
        self._parked = parked
        self._deliver = deliver
        self._letters = letters
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.closing = asyncio.Event()
        self.wake = asyncio.Event()

    async def run(self, reader: Reader, ready: Callable[[], None]) -> None:
        """Until `closing` is set. `ready` is called once it is known which entities are parked."""
        while not await self._looked(reader):
            await self._rest(FIRST_PAUSE_S)
        if not self.closing.is_set():
            ready()
        pause = FIRST_PAUSE_S
        while not self.closing.is_set():
            anything = any(lot.entities for lot in self._parked.values())
            await self._rest(pause if anything else LOOK_EVERY_S)
            if self.wake.is_set():  # an entity was parked just now: it may be over soon
                self.wake.clear()
                pause = FIRST_PAUSE_S
                continue
            moved = await self._looked(reader) and await self._passed(reader)
            pause = FIRST_PAUSE_S if moved else min(pause * 2, LONGEST_PAUSE_S)

    async def _looked(self, reader: Reader) -> bool:
        """Whether it is known now what is parked; Kafka being away is asked again."""
        with contextlib.suppress(KafkaError):
            await self._look(reader)
            return True
        return self.closing.is_set()

    async def _passed(self, reader: Reader) -> bool:
        """One pass over every partition; whether anything was re-driven."""
        before = {number: lot.position for number, lot in self._parked.items()}
        with contextlib.suppress(KafkaError):
            for number, lot in self._parked.items():
                await self._pass(reader, number, lot)
        return before != {number: lot.position for number, lot in self._parked.items()}

    async def _rest(self, seconds: float) -> None:
        waits = [asyncio.ensure_future(self.wake.wait()), asyncio.ensure_future(self.closing.wait())]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _look(self, reader: Reader) -> None:
        """Notes what lies in the log and was not known: of an earlier assignment, or of another process."""
        ends = await reader.ends(self._parked)
        for number, end in ends.items():
            lot = self._parked[number]
            async for records in reader.between(number, lot.tail, end):
                for record in records:
                    entity = _entity(record)
                    if entity is None:
                        lot.passed(record.offset)
                    else:
                        lot.note(entity, record.offset)
                if self.closing.is_set():
                    return
            if end > lot.tail:
                lot.passed(end - 1)

    async def _pass(self, reader: Reader, number: int, lot: Parked) -> None:
        if not lot.entities or self.closing.is_set():
            return
        full: dict[Entity, bool] = {}
        async for records in reader.between(number, lot.position, lot.tail):
            due: dict[Entity, list[Record]] = {}
            for record in records:
                entity = _entity(record)
                if entity is not None and lot.is_due(entity, record.offset) and not full.get(entity, False):
                    due.setdefault(entity, []).append(record)
            async with asyncio.TaskGroup() as group:
                for entity, its in due.items():
                    group.create_task(self._drive(entity, its, lot, full))
            if self.closing.is_set() or all(full.get(entity, False) for entity in lot.entities):
                return

    async def _drive(self, entity: Entity, records: list[Record], lot: Parked, full: dict[Entity, bool]) -> None:
        """Law: in order; nothing of an entity is tried after one of its records was not taken in."""
        lanes: Lanes[Record] = Lanes()
        async with self._slots:
            for record in records:
                routed = self._read(record)
                if isinstance(routed, Routed):
                    lanes.add(Waiting(entity, routed.target, routed.message, routed.size, record))
                    continue
                if not await self._send(lanes, lot, full):
                    return
                await self._give_up(record, routed)
                lot.redriven(entity, record.offset)
            await self._send(lanes, lot, full)
        if not lot.holds(entity):
            logging.get("bridge").info("re-driven", entity=entity)

    async def _send(self, lanes: Lanes[Record], lot: Parked, full: dict[Entity, bool]) -> bool:
        """Whether everything in these lanes, all of one entity, was taken in."""
        while (batch := lanes.take()) is not None:
            if self.closing.is_set():
                return False
            entity = batch.lane
            if entity not in full:
                full[entity] = await self._deliver.courier.backlog.measure(batch.target, REOPEN_AT) is not None
            if full[entity]:
                return False
            answer = await self._deliver.deliver(
                batch, lambda record: record, settled=lambda item: lot.redriven(item.lane, item.ticket.offset)
            )
            if answer is not None:
                full[entity] = True
                logging.get("bridge").info("still full", entity=entity, because=answer.because)
                return False
            lanes.done(entity)
        return True

    def _read(self, record: Record) -> Routed | str:
        """Whom to tell, or why nobody can be told."""
        try:
            routed = address(original(record))
        except ValueError as error:
            return str(error)
        return routed if isinstance(routed, Routed) else getattr(routed, "text", "nothing to tell")

    async def _give_up(self, record: Record, text: str) -> None:
        await patiently(lambda: self._letters.write(record, reason="parked-unreadable", text=text), what="dead letter")


def _entity(record: Record) -> Entity | None:
    try:
        return Entity((record.key or b"").decode())
    except ValueError:
        return None
