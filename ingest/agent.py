"""Serves many nodes: polls each with its own time limit, and publishes one batch per node and tick."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

import structlog

from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import NodeId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import CollectorFailed, Observation, ObservationBatch, observation_id
from gpuward.runtime import metrics
from ingest.collectors.protocol import NodeSource, Seen
from ingest.delta import FULL_EVERY
from ingest.limited import LimitedCall
from ingest.node_feed import NodeFeed

_log = structlog.get_logger("agent")
_MAX_ERROR = 200


class Sink(Protocol):
    """Where batches go; `ingest.publisher.Publisher` is one. Neither call waits for Kafka."""

    def publish(self, batch: ObservationBatch) -> None: ...

    def publish_inventory(self, inventory: NodeInventory) -> None: ...

    def wants_full(self, node: NodeId) -> bool:
        """Whether samples of this node were dropped, so that only a full one can be understood."""
        ...


class _Polled(NamedTuple):
    boot_id: str
    inventory: NodeInventory
    seen: list[Seen]


class Agent:
    """Law: a source that hangs stops no other, costs one thread, and becomes an observation, once.

    A source that hangs or raises gets no further batch until it answers: a batch says that the node is alive. A source
    that raises `Transient` cannot reach its node, and gets none either. What a late answer brings is not lost.
    """

    def __init__(
        self,
        sources: Sequence[NodeSource],
        sink: Sink,
        *,
        clock: Callable[[], datetime],
        tick_s: float = 10.0,
        limit_s: float = 5.0,
        full_every: timedelta = FULL_EVERY,
    ) -> None:
        self._lanes = [_Lane(source, sink, clock, limit_s, full_every) for source in sources]
        self._tick_s = tick_s

    async def tick(self) -> None:
        """Polls every node once, all at the same time."""
        await asyncio.gather(*(lane.tick() for lane in self._lanes))

    async def run(self, stop: asyncio.Event) -> None:
        """Ticks at a steady rate until `stop` is set. A tick that took too long is followed by the next at once."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not stop.is_set():
            await self.tick()
            due = max(due + self._tick_s, loop.time())
            try:
                await asyncio.wait_for(stop.wait(), due - loop.time())
            except TimeoutError:
                continue


class _Lane:
    """One node: its source, its feed, and whether it failed the last time."""

    def __init__(
        self,
        source: NodeSource,
        sink: Sink,
        clock: Callable[[], datetime],
        limit_s: float,
        full_every: timedelta,
    ) -> None:
        self._source = source
        self._sink = sink
        self._clock = clock
        self._limit_s = limit_s
        self._feed = NodeFeed(source.node, full_every=full_every)
        self._call = LimitedCall(self._poll, f"poll {source.node}")
        self._boot_id = ""
        self._failing = False

    async def tick(self) -> None:
        future = asyncio.wrap_future(self._call.begin())
        done, _ = await asyncio.wait({future}, timeout=self._limit_s)
        if not done:
            future.add_done_callback(_forget)
            self._failed("stalled", f"no answer within {self._limit_s:g} s")
            return
        self._call.taken()
        try:
            polled = future.result()
        except Transient as error:
            _log.info("node cannot be reached", node=self._source.node, error=str(error))
        except Exception as error:  # noqa: BLE001 - a collector's failure is an observation, never the agent's end
            self._failed("error", f"{type(error).__name__}: {error}"[:_MAX_ERROR])
        else:
            self._failing = False
            self._publish(polled.boot_id, polled.seen, polled.inventory)

    def _poll(self) -> _Polled:
        return _Polled(self._source.boot_id(), self._source.inventory(), list(self._source.poll()))

    def _publish(self, boot_id: str, seen: list[Seen], inventory: NodeInventory | None = None) -> None:
        self._boot_id = boot_id
        if inventory is not None:
            known = inventory if inventory.boot_id else inventory.model_copy(update={"boot_id": boot_id})
            if self._feed.changed(known):
                self._sink.publish_inventory(known)
        full = self._sink.wants_full(self._source.node)
        for batch in self._feed.batches(seen, boot_id=boot_id, now=self._clock(), full=full):
            self._sink.publish(batch)

    def _failed(self, reason: str, error: str) -> None:
        if reason == "stalled":
            metrics.counter("gpuward_collector_hung_total").labels("node").inc()
        if self._failing:
            return
        self._failing = True
        _log.warning("source failed", node=self._source.node, reason=reason, error=error)
        self._publish(self._boot_id, [failure("node", self._source.node, self._boot_id, self._clock(), reason, error)])


def failure(collector: str, node: str, boot_id: str, now: datetime, reason: str, error: str) -> Observation:
    """The observation that a collector failed. Its id: node, boot, collector, and when it was noticed."""
    return CollectorFailed.model_validate(
        {
            "id": observation_id(node, boot_id, collector, reason, now.isoformat()),
            "time": now,
            "boot_id": boot_id,
            "collector": collector,
            "reason": reason,
            "error": error,
        }
    )


def _forget(future: asyncio.Future[_Polled]) -> None:
    """Marks an exception as seen: the next tick takes it from the call itself."""
    if not future.cancelled():
        future.exception()
