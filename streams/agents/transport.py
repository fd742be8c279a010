"""A Faust transport driver of ours, on Faust's aiokafka driver: scheme `gpuward://`.

It differs in three things. On assignment each partition is rewound by a bounded overlap. Records that were fetched before
a seek are never delivered after it. And a record is handed on directly where nothing blocks it, which halves the cost of
Faust's own loop (three tasks a record). Law: no record of a source topic is skipped; what is dropped is read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar

from faust.transport.drivers import TRANSPORTS, aiokafka
from faust.types import TP

from gpuward.runtime import logging

SCHEME = "gpuward"
YIELD_EVERY = 50
Rewind = Callable[[Mapping[TP, int | None]], Awaitable[Mapping[TP, int]]]
"""Partitions and their committed offsets → where to read each from."""


class Consumer(aiokafka.Consumer):  # type: ignore[misc]
    """`rewind` is set by the application before it starts; `frozen` stops all commits, once the process is crashing."""

    rewind: Rewind | None = None
    frozen: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._epoch = 0
        self._fetching = asyncio.Lock()
        self._sought: set[TP] = set()

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Nothing of a source topic is delivered until its partition was rewound."""
        self._sought.clear()
        self._epoch += 1
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        """Seeks every source partition to where it has to be read again from. No fetch is under way meanwhile, and what
        was fetched before is dropped, so that nothing is delivered out of order.
        """
        async with self._fetching:
            self._epoch += 1
            await super().perform_seek()
            places = {tp for tp in self.assignment() if not self._is_changelog_tp(tp)}
            targets: dict[TP, int] = {}
            if self.rewind is not None and places:
                targets = dict(await self.rewind({tp: self._committed_offset[tp] for tp in places}))
            if targets:
                await self.seek_wait(targets)
                self._read_offset.update(dict.fromkeys(targets, None))
            self._sought = places
            self._epoch += 1
        logging.get("transport").info(
            "reading from", places={f"{tp.topic}/{tp.partition}": o for tp, o in targets.items()}
        )

    async def log_starts(self, places: Iterable[TP]) -> dict[TP, int]:
        """The first offset that each partition still has."""
        inner = self._thread._ensure_consumer()  # noqa: SLF001
        found = await self._thread.call_thread(inner.beginning_offsets, [_plain(tp) for tp in places])
        return {TP(tp.topic, tp.partition): int(at) for tp, at in found.items()}

    async def offsets_for_times(self, times: Mapping[TP, int]) -> dict[TP, int | None]:
        """The first offset at or after each time in ms; None where there is none."""
        inner = self._thread._ensure_consumer()  # noqa: SLF001
        asked = {_plain(tp): at for tp, at in times.items()}
        found = await self._thread.call_thread(inner.offsets_for_times, asked)
        return {TP(tp.topic, tp.partition): None if at is None else int(at.offset) for tp, at in found.items()}

    async def commit(self, *args: Any, **kwargs: Any) -> bool:
        """Commits nothing any more once frozen."""
        return False if self.frozen else bool(await super().commit(*args, **kwargs))

    async def force_commit(self, *args: Any, **kwargs: Any) -> bool:
        """The same, for those who do not ask whether a commit is under way."""
        return False if self.frozen else bool(await super().force_commit(*args, **kwargs))

    async def _drain_messages(self, fetcher: Any) -> None:
        try:
            while not (self.should_stop or fetcher.should_stop):
                await asyncio.sleep(0)
                if not self.flow_active:
                    # Never while holding the lock: the seek that lets flow resume needs it.
                    await self.wait(self.can_resume_flow)
                async with self._fetching:
                    if not self.flow_active:
                        continue
                    epoch = self._epoch
                    records, active = await self._wait_next_records(1.0)
                if records and not self.should_stop:
                    await self._deliver(records, active, epoch)
        except self.consumer_stopped_errors:
            if not self.transport.app.should_stop:
                raise
        except asyncio.CancelledError:
            if not self.transport.app.should_stop:
                raise

    async def _deliver(self, records: Any, active: Any, epoch: int) -> None:
        generation = self.app.consumer_generation_id
        since_yield = 0
        for tp, record in self.scheduler.iterate(records):
            if not self.flow_active or epoch != self._epoch or generation != self.app.consumer_generation_id:
                return await self._dropped(epoch)
            changelog = self._is_changelog_tp(tp)
            if not changelog and tp not in self._sought:
                continue
            if active is not None and tp not in active and tp not in self._buffered_partitions:
                continue
            self.app.monitor.track_tp_end_offset(tp, self.highwater(tp))
            await self._hand_on(tp, self._to_message(tp, record))
            since_yield += 1
            if since_yield >= YIELD_EVERY:
                since_yield = 0
                await asyncio.sleep(0)
        return None

    async def _hand_on(self, tp: TP, message: Any) -> None:
        offset, last = message.offset, self._read_offset[tp]
        if last is not None and offset < last:
            return
        if last and offset - last > 1 and self.app.topics.acks_enabled_for(message.topic):
            await self._add_gap(tp, last + 1, offset)
        if self._unblocked(tp):
            await self.callback(message)
        else:
            await self.wait_first(self.callback(message), self.suspend_flow.wait())
        self._read_offset[tp] = offset

    def _unblocked(self, tp: TP) -> bool:
        """Whether the callback can complete at once: flow is on, the producer keeps up, no agent's queue is full."""
        app = self.app
        buffer = app.producer.buffer
        if not app.flow_control.is_active() or buffer.size > buffer.max_messages:
            return False
        return not any(channel.queue.full() for channel in app.topics._tp_index[tp])  # noqa: SLF001

    async def _dropped(self, epoch: int) -> None:
        """What was fetched is not delivered. A seek that is under way or done reads it again; else one is made."""
        if epoch == self._epoch and not self.should_stop and not self.app.rebalancing and self.assignment():
            await self.perform_seek()


class Transport(aiokafka.Transport):  # type: ignore[misc]
    """Faust's aiokafka transport with our consumer."""

    Consumer: ClassVar[type[Consumer]] = Consumer


def _plain(tp: TP) -> Any:
    """Aiokafka's own word for a partition: it compares types."""
    return aiokafka._TopicPartition(tp.topic, tp.partition)  # noqa: SLF001


def register() -> None:
    """Lets Faust find the driver by its URL scheme."""
    TRANSPORTS.aliases[SCHEME] = "streams.agents.transport:Transport"
