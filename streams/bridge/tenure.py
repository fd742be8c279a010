"""One assignment's time: records of these partitions in, signals out, offsets committed. It ends with the next rebalance.

The topics for actors and the parking topic have one partition count and the range assignor, so a process owns the same
numbers of each: all that is known of an entity is known here.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuward.contracts.topics import PARKED
from gpuward.runtime import failpoints, logging
from gpuward.runtime.kafka import KafkaError, TopicPartition
from streams.bridge.aside import Aside
from streams.bridge.deliver import Deliver
from streams.bridge.flow import Flow
from streams.bridge.gauges import Gauges
from streams.bridge.lanes import Batch, Lanes, Waiting
from streams.bridge.offsets import Progress
from streams.bridge.park import Park, partition_of
from streams.bridge.parked import Parked
from streams.bridge.redrive import Redrive
from streams.bridge.route import Misplaced, Routed, Tombstone, Unroutable, route
from streams.bridge.send import Full
from streams.record import Record

MOST_OUTSTANDING = 1000
MOST_OUTSTANDING_BYTES = 2_000_000
MOST_HELD = 20_000
"""Per partition: records not acknowledged, their bytes, and what a crash would bring again. Beyond, the partition rests."""
GO_ON_AT = 0.5
DRAIN_S = 5.0
"""How long what is in flight may take when partitions are handed over; less than a session."""
COMMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Ticket:
    """What is acknowledged: this record of this partition."""

    partition: TopicPartition
    record: Any


@dataclass(frozen=True, slots=True)
class Parts:
    """What a tenure works with; made once for the process."""

    consumer: Any
    deliver: Deliver
    park: Park
    aside: Aside
    gauges: Gauges
    concurrency: int


class Tenure:
    """Law: a record is acknowledged only once Temporal, the parking topic or the dead letters keep it."""

    def __init__(
        self, parts: Parts, partitions: Iterable[TopicPartition], failed: Callable[[BaseException], None]
    ) -> None:
        """`failed` is told of an error that nobody can wait out: the process must end."""
        self._parts = parts
        self._failed = failed
        everything = list(partitions)
        self.progress = {where: Progress() for where in everything if where.topic != PARKED}
        self.parked = {where.partition: Parked() for where in everything if where.topic == PARKED}
        self.flow = Flow(parts.consumer, everything)
        self._lanes: Lanes[Ticket] = Lanes()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sends = 0
        self._one_commit = asyncio.Lock()
        self._reached = dict.fromkeys(self.progress, -1)
        """The furthest offset of each partition that was sent."""
        self._committed: dict[TopicPartition, int] = {}
        self.redrive = Redrive(self.parked, parts.deliver, parts.aside.letters)
        for where in everything:  # nothing is read before it is known which entities are parked
            self.flow.hold(where, "parking topic" if where.topic == PARKED else "what is parked?")

    def start(self, reading: Coroutine[Any, Any, None]) -> None:
        """`reading` finds out what is parked, calls `ready`, and re-drives."""
        self._spawn(reading)

    def ready(self) -> None:
        for where in self.progress:
            self.flow.release(where, "what is parked?")

    def take(self, batches: Mapping[TopicPartition, Sequence[Record]]) -> None:
        """Records as the consumer gave them. Returns at once."""
        for where, records in batches.items():
            progress = self.progress[where]
            misplaced: list[Ticket] = []
            for record in records:
                progress.begin(
                    record.offset,
                    time_s=record.timestamp / 1000,  # type: ignore[attr-defined]
                    size=len(record.value or b""),
                )
                self._sort(Ticket(where, record), misplaced)
            if misplaced:
                self._spawn(self._reroute(misplaced))
            self._throttle(where)
        self._pump()

    def _sort(self, ticket: Ticket, misplaced: list[Ticket]) -> None:
        where = route(ticket.record)
        match where:
            case Routed():
                self._lanes.add(Waiting(where.lane, where.target, where.message, where.size, ticket))
            case Misplaced():
                misplaced.append(ticket)
            case Unroutable():
                self._spawn(self._dead_letter(ticket, where))
            case Tombstone():
                self._acknowledge(ticket)

    def _pump(self) -> None:
        while self._sends < self._parts.concurrency and (batch := self._lanes.take()) is not None:
            self._sends += 1
            self._spawn(self._serve(batch))

    async def _serve(self, batch: Batch[Ticket]) -> None:
        partitions = {item.ticket.partition for item in batch.items}
        left = deque(batch.items)
        for item in batch.items:
            where = item.ticket.partition
            self._reached[where] = max(self._reached[where], item.ticket.record.offset)

        def settled(item: Waiting[Ticket]) -> None:
            left.popleft()
            self._parts.gauges.delivered(item.ticket.record)
            self._acknowledge(item.ticket)

        def waiting() -> None:
            for where in partitions:
                self.flow.hold(where, batch.lane)

        try:
            lot = self.parked.get(partition_of(batch.lane.encode()))
            full: Full | None = Full("earlier records of this entity are parked")
            if lot is None or not lot.holds(batch.lane):
                full = await self._parts.deliver.deliver(
                    batch, lambda ticket: ticket.record, settled=settled, waiting=waiting
                )
            if full is not None:
                await self._park(batch, left, full, lot)
        finally:
            self._sends -= 1
            for where in partitions:
                self.flow.release(where, batch.lane)
        self._lanes.done(batch.lane)
        self._pump()

    async def _park(
        self, batch: Batch[Ticket], items: Iterable[Waiting[Ticket]], full: Full, lot: Parked | None
    ) -> None:
        tickets = [item.ticket for item in items]
        first = lot is None or not lot.holds(batch.lane)
        offsets = await self._parts.park.park([ticket.record for ticket in tickets], full.because, first=first)
        for ticket, offset in zip(tickets, offsets, strict=True):
            if lot is not None and offset is not None:
                lot.note(batch.lane, offset)
            self._acknowledge(ticket)
        if first:
            self.redrive.wake.set()

    async def _reroute(self, tickets: list[Ticket]) -> None:
        await self._parts.aside.reroute([ticket.record for ticket in tickets])
        for ticket in tickets:
            self._acknowledge(ticket)

    async def _dead_letter(self, ticket: Ticket, why: Unroutable) -> None:
        await self._parts.aside.dead_letter(ticket.record, why)
        self._acknowledge(ticket)

    def _acknowledge(self, ticket: Ticket) -> None:
        progress = self.progress[ticket.partition]
        progress.acknowledge(ticket.record.offset)
        self._parts.gauges.acknowledged(ticket.record.topic)
        self._throttle(ticket.partition)

    def _throttle(self, where: TopicPartition) -> None:
        """Law: memory is bounded whatever waits. A partition that rests goes on once half of it is done."""
        fill = self.progress[where].fill(MOST_OUTSTANDING, MOST_OUTSTANDING_BYTES, MOST_HELD)
        if fill >= 1.0:
            self.flow.hold(where, "enough in memory")
        elif fill <= GO_ON_AT:
            self.flow.release(where, "enough in memory")

    def positions(self) -> dict[TopicPartition, int]:
        """What may be committed now."""
        live = {where: at for where, progress in self.progress.items() if (at := progress.position) is not None}
        return live | {TopicPartition(PARKED, number): lot.position for number, lot in self.parked.items()}

    async def commit(self) -> None:
        """Commits what moved. A commit that fails is repeated with the next; a record is at worst delivered twice."""
        async with self._one_commit:
            moved = {where: at for where, at in self.positions().items() if self._committed.get(where) != at}
            if not moved:
                return
            try:
                async with asyncio.timeout(COMMIT_S):
                    await self._parts.consumer.commit(moved)
            except (KafkaError, TimeoutError) as error:
                logging.get("bridge").warning("offsets were not committed", error=repr(error), partitions=len(moved))
                return
            self._committed |= moved
        failpoints.hit("offset committed")

    def committed_at(self, where: TopicPartition, offset: int) -> None:
        """The group's offset is this already."""
        self._committed[where] = offset

    async def close(self, within_s: float = DRAIN_S) -> None:
        """What is in flight ends, and what lies before it in the log is sent too, so that nothing comes twice; the rest
        is left to the next owner. Commits. After `within_s` nothing of it runs, ended or not.
        """
        self._lanes.cut(lambda item: item.ticket.record.offset < self._reached[item.ticket.partition])
        self.redrive.closing.set()
        end = time.monotonic() + within_s
        while self._tasks and (left := end - time.monotonic()) > 0:
            await asyncio.wait(set(self._tasks), timeout=left, return_when=asyncio.FIRST_COMPLETED)
        self._lanes.clear()
        late = set(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        if late:
            logging.get("bridge").warning("handed over with sends unanswered; they come again", sends=len(late))
        await self.commit()
        self.flow.end()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
