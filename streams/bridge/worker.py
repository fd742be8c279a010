"""The bridge's process: one consumer in the group, and a `Tenure` for each assignment that it is given."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from temporalio.client import Client

from gpuward.contracts.topics import PARKED, TOPICS
from gpuward.runtime import logging
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import (
    ConsumerRebalanceListener,
    IllegalStateError,
    Producer,
    TopicPartition,
    consumer,
)
from gpuward.runtime.settings import Settings
from gpuward.runtime.temporal import connect_patiently
from streams.bridge.aside import Aside
from streams.bridge.backlog import Backlog
from streams.bridge.deliver import Deliver
from streams.bridge.gauges import Gauges
from streams.bridge.letters import DeadLetters
from streams.bridge.park import Park
from streams.bridge.patience import patiently
from streams.bridge.reader import Reader
from streams.bridge.send import Courier
from streams.bridge.tenure import Parts, Tenure
from streams.dead_letters import DeadLetters as KafkaDeadLetters

GROUP = "gpuward-bridge"
COMMIT_EVERY_S = 0.5
_POLL_MS = 250
_POLL_RECORDS = 500
_LEAVE_S = 5.0


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """Runs until `stop`, then drains, commits and leaves the group. Raises what nobody can wait out."""
    client = await connect_patiently(settings, stop)
    if client is None:
        return
    producer = Producer(settings, GROUP)
    if not await _unless(stop, patiently(producer.start, what="connect to Kafka")):
        return
    try:
        bridge = Bridge(settings, client, producer, KafkaDeadLetters(producer, by=GROUP))
        health.add("bridge", bridge.gauges.check)
        await bridge.run(stop, lambda: setattr(health, "ready", True))
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await producer.stop()


class Bridge(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Reads, and hands each assignment to a tenure of its own."""

    def __init__(self, settings: Settings, client: Client, producer: Producer, letters: DeadLetters) -> None:
        self._settings = settings
        backlog = Backlog(client, signal_limit=settings.bridge_signal_limit, bytes_limit=settings.bridge_bytes_limit)
        self.gauges = Gauges()
        self._consumer = consumer(settings, GROUP, group=GROUP)
        self._parts = Parts(
            consumer=self._consumer,
            deliver=Deliver(Courier(client, backlog), letters),
            park=Park(producer, letters),
            aside=Aside(producer, letters),
            gauges=self.gauges,
            concurrency=settings.bridge_concurrency,
        )
        self._tenure: Tenure | None = None
        self._crash: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready: Callable[[], None] = lambda: None

    async def run(self, stop: asyncio.Event, ready: Callable[[], None]) -> None:
        """`ready` is called when partitions have been assigned and it is known what is parked."""
        self._ready = ready
        topics = [row.name for row in TOPICS.values() if row.for_actors]
        self._consumer.subscribe(topics=[*topics, PARKED], listener=self)
        try:
            if await _unless(stop, patiently(self._consumer.start, what="connect to Kafka")):
                await self._work(stop)
        finally:
            tenure, self._tenure = self._tenure, None
            if tenure is not None:
                await tenure.close(self._settings.shutdown_grace_s)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE_S):
                    await self._consumer.stop()

    async def _work(self, stop: asyncio.Event) -> None:
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(work) for work in (self._read(), self._tick())]
        stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
        crash: asyncio.Future[Any] = self._crash
        try:
            done, _ = await asyncio.wait([stopping, crash, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stopping, *tasks):
                task.cancel()
            await asyncio.gather(stopping, *tasks, return_exceptions=True)
        for ended in done:
            ended.result()

    async def _read(self) -> None:
        """Law: between what the consumer gives and what the tenure takes nothing can happen, no rebalance either."""
        while True:
            batches = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=_POLL_RECORDS)
            if batches:
                self._take(batches)
                await asyncio.sleep(0)  # sends have their turn

    def _take(self, batches: dict[TopicPartition, list[Any]]) -> None:
        progress = self._tenure.progress if self._tenure is not None else {}
        for where in [where for where in batches if where not in progress]:
            # Given out before we were told of the assignment: not lost, only too early.
            with contextlib.suppress(IllegalStateError):
                self._consumer.seek(where, batches.pop(where)[0].offset)
        if self._tenure is not None and batches:
            self._tenure.take(batches)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(COMMIT_EVERY_S)
            if self._tenure is not None:
                await self._tenure.commit()
            self.gauges.lag(self._end)

    def _end(self, where: TopicPartition) -> int | None:
        try:
            end: int | None = self._consumer.highwater(where)
        except IllegalStateError:
            return None
        return end

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Before a rebalance: what is in flight ends and is committed, then the partitions may go."""
        del revoked  # the range assignor takes all and gives anew
        tenure, self._tenure = self._tenure, None
        if tenure is not None:
            await tenure.close()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """After a rebalance. Live partitions rest until it is known which of their entities are parked."""
        tenure = Tenure(self._parts, assigned, self._failed)
        self._tenure = tenure
        self.gauges.watch(tenure.progress)
        tenure.start(self._redrive(tenure))
        logging.get("bridge").info("assigned", partitions=len(tenure.progress))

    async def _redrive(self, tenure: Tenure) -> None:
        async with Reader(self._settings) as reader:
            for number, lot in tenure.parked.items():
                where = TopicPartition(PARKED, number)
                at = await patiently(functools.partial(self._consumer.committed, where), what="read offsets")
                lot.passed((at or 0) - 1)
                tenure.committed_at(where, at or 0)
            await tenure.redrive.run(reader, lambda: self._now_ready(tenure))

    def _now_ready(self, tenure: Tenure) -> None:
        tenure.ready()
        self._ready()

    def _failed(self, error: BaseException) -> None:
        if not self._crash.done():
            self._crash.set_exception(error)


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, Any]) -> bool:
    """Whether `work` ended before `stop` was set; if not, it is cancelled. Raises what it raises."""
    task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not task.done():
            task.cancel()
    if not task.done():
        await asyncio.gather(task, return_exceptions=True)
        return False
    task.result()
    return True
