"""Batches and inventory to Kafka: acknowledged, in order per node, kept in bounded memory while brokers are away."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from gpuward.contracts.envelope import Envelope
from gpuward.contracts.errors import Permanent, Transient
from gpuward.contracts.identity import NodeId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import BATCH_TYPE, NodeSample, ObservationBatch, observation_id
from gpuward.contracts.topics import INVENTORY, OBSERVATIONS
from gpuward.runtime import metrics
from ingest.backlog import Backlog, Record

INVENTORY_TYPE = "gpuward.inventory"
_log = structlog.get_logger("publisher")
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0


class Producer(Protocol):
    """Returns once Kafka has acknowledged; the topic's row places the record. Raises Transient while brokers are away,
    Permanent for a record that can never be taken.
    """

    async def send(
        self, topic: str, *, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> object: ...


@dataclass(slots=True)
class Counts:
    """Since the publisher began. What the backlog dropped is counted there."""

    acknowledged: int = 0
    resent: int = 0
    refused: int = 0


class Publisher:
    """Law: records of one node reach Kafka in the order in which they were published, each acknowledged before the next.

    `publish` never waits. While brokers are away, records wait at most 300 s and 64 MiB (both frozen by a test); what
    goes first when that is not enough, `Backlog` says. A record that Kafka refuses for good is counted and left out.
    """

    def __init__(
        self,
        producer: Producer,
        clock: Callable[[], float] = time.monotonic,
        *,
        source: str,
        max_bytes: int = 64 * 1024 * 1024,
        max_age_s: float = 300.0,
        concurrency: int = 64,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`source` is the CloudEvents source, `agent/<host>`; `clock` gives monotonic seconds."""
        self._producer = producer
        self._clock = clock
        self._source = source
        self._sleep = sleep
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._crash: BaseException | None = None
        self._closed = False
        self._away = False
        self.counts = Counts()
        self.backlog = Backlog(max_bytes=max_bytes, max_age_s=max_age_s)

    def publish(self, batch: ObservationBatch) -> None:
        """Takes the batch. Raises what a producer raised beside Transient and Permanent: the world is wrong then."""
        samples = [seen for seen in batch.observations if isinstance(seen, NodeSample)]
        identity = observation_id(batch.node, batch.boot_id, batch.seq, batch.time.isoformat())
        envelope = Envelope(id=identity, type=BATCH_TYPE, source=self._source, time=batch.time)
        record = Record(
            lane=batch.node,
            topic=OBSERVATIONS,
            key=batch.node.encode(),
            value=batch.to_json(),
            headers=envelope.to_headers(),
            queued=self._clock(),
            samples=len(samples),
            full=any(sample.full for sample in samples),
            discrete=len(batch.observations) - len(samples),
        )
        self._take(record)

    def publish_inventory(self, inventory: NodeInventory) -> None:
        """Takes the record; one of the same node and source that still waits is replaced."""
        identity = observation_id(inventory.key, inventory.time.isoformat())
        envelope = Envelope(id=identity, type=INVENTORY_TYPE, source=self._source, time=inventory.time)
        record = Record(
            lane=f"{INVENTORY} {inventory.key}",
            topic=INVENTORY,
            key=inventory.key.encode(),
            value=inventory.to_json(),
            headers=envelope.to_headers(),
            queued=self._clock(),
            discrete=1,
        )
        waiting = self.backlog.head(record.lane)
        if waiting is not None and not waiting.in_flight:
            self.backlog.remove(waiting)
        self._take(record)

    def wants_full(self, node: NodeId) -> bool:
        """Whether samples of this node were dropped, so that only a full one can be understood."""
        return str(node) in self.backlog.broken

    async def close(self, grace_s: float) -> int:
        """Takes no more, sends what waits for at most `grace_s`, and returns how many records were left unsent."""
        self._closed = True
        tasks = list(self._tasks.values())
        if tasks:
            _, pending = await asyncio.wait(tasks, timeout=grace_s)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        left = len(self.backlog)
        if left:
            _log.warning("records left unsent", records=left, bytes=self.backlog.bytes)
        return left

    def _take(self, record: Record) -> None:
        if self._crash is not None:
            raise self._crash
        if self._closed:
            raise RuntimeError(f"the publisher is closed: nothing is taken for {record.lane}")
        self.backlog.add(record)
        self.backlog.trim(self._clock())
        if record.lane not in self._tasks and not record.gone:
            task = asyncio.get_running_loop().create_task(self._drain(record.lane), name=f"publish {record.lane}")
            self._tasks[record.lane] = task
            task.add_done_callback(lambda done: self._ended(record.lane, done))

    async def _drain(self, lane: str) -> None:
        """Sends the lane's records one after the other; while brokers are away, waits longer each time and trims."""
        pause = 0.0
        try:
            while True:
                if pause:
                    await self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
                    self.backlog.trim(self._clock())
                record = self.backlog.head(lane)
                if record is None:
                    return
                async with self._slots:
                    done = await self._try(record)
                if done:
                    self.counts.resent += pause > 0
                    self.backlog.remove(record)
                pause = 0.0 if done else min(max(pause * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
        finally:
            del self._tasks[lane]

    async def _try(self, record: Record) -> bool:
        """Whether the record is done with: acknowledged, or refused for good."""
        record.in_flight = True
        try:
            await self._producer.send(record.topic, key=record.key, value=record.value, headers=record.headers)
        except Transient as error:
            if not self._away:
                self._away = True
                _log.warning("brokers are away, keeping what comes", error=str(error), waiting=len(self.backlog))
            return False
        except Permanent as error:
            self.counts.refused += 1
            _log.error("record refused", lane=record.lane, topic=record.topic, error=str(error))
            return True
        finally:
            record.in_flight = False
        if self._away:
            self._away = False
            _log.info("brokers are back, sending what waits", waiting=len(self.backlog))
        self.counts.acknowledged += 1
        metrics.counter("gpuward_publisher_batches_total").inc()
        return True

    def _ended(self, lane: str, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._crash = error
            _log.error("publisher failed", lane=lane, error=repr(error))
