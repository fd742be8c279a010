"""One stream worker: Faust in the event loop of the process, between its health endpoint and its signals.

SIGTERM drains: the record under way is finished, offsets are committed, the group is left. What is wrong with the world
ends it at once, without a commit, and with a nonzero status.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

from faust.types import TP

from gpuward.contracts.errors import Transient
from gpuward.contracts.topics import OBSERVATIONS
from gpuward.runtime import logging, policy
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Producer
from gpuward.runtime.settings import Settings
from streams.agents import roll_up
from streams.agents.app import build
from streams.agents.contiguity import Contiguity
from streams.agents.detect import Detect, rules_of
from streams.agents.detector import Detector
from streams.agents.publish import DETECT, ROLL_UP, Publisher
from streams.agents.rewind import Rewind
from streams.agents.supervised import Supervised
from streams.agents.watchdog import Watchdog
from streams.classify import Classifier
from streams.dead_letters import DeadLetters

STOP_S = 15.0


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """Runs until `stop`. Raises Transient when the world failed it."""
    async with Producer(settings, "gpuward-streams") as producer:
        worker = Worker(settings, producer)
        health.add("streams", worker.problem)
        await worker.run(health, stop)


class Worker:
    """The application, its agents, and everything that watches over them."""

    def __init__(self, settings: Settings, producer: Producer) -> None:
        self._log = logging.get("streams")
        self._supervised = Supervised()
        self.app = build(settings)
        letters = DeadLetters(producer)
        classify = Classifier(policy.load(settings.policy_file))
        rules = rules_of(settings, classify)
        contiguity = Contiguity(OBSERVATIONS, self._log_start)
        self._detect = Detect(
            self.app,
            lambda views: Detector(views, Publisher(producer, DETECT), letters, rules),
            self._supervised,
            contiguity,
        )
        roll_up.add(self.app, Publisher(producer, ROLL_UP), letters, classify, self._supervised)
        self.app.on_partitions_revoked.connect(self._revoked)
        self._settings, self._contiguity = settings, contiguity
        self._watchdog = Watchdog(self.app, contiguity.next_of)

    async def run(self, health: Health, stop: asyncio.Event) -> None:
        """Until `stop`, or until something fails, which is raised."""
        self.app.finalize()
        consumer: Any = self.app.consumer
        consumer.rewind = Rewind(consumer, self._settings, self._detect.views.place, self._contiguity)
        started = asyncio.create_task(self.app.start(), name="faust")
        watching = asyncio.create_task(self._watchdog.run(), name="watchdog")
        crashed = asyncio.create_task(self.app._crashed.wait(), name="crashed")  # noqa: SLF001
        stopping = asyncio.create_task(stop.wait(), name="stop")
        try:
            await _first(started, watching, crashed, stopping, self._supervised.crashed)
            health.ready = started.done() and not started.cancelled() and started.exception() is None
            if health.ready:
                await _first(watching, crashed, stopping, self._supervised.crashed)
            self._raise(started, watching, crashed)
        except BaseException:
            consumer.frozen = True
            raise
        finally:
            health.ready = False
            for task in (watching, crashed, stopping):
                task.cancel()
            await self._end(started)

    def problem(self) -> str | None:
        """What is wrong, for the health endpoint."""
        if self._supervised.crashed.done():
            return f"crashing: {self._supervised.crashed.result()!r}"
        return None

    def _raise(self, started: asyncio.Task[Any], watching: asyncio.Task[Any], crashed: asyncio.Task[Any]) -> None:
        if self._supervised.crashed.done():
            error = self._supervised.crashed.result()
            raise Transient(f"the streams cannot go on: {error}") from error
        for task in (started, watching):
            if task.done() and not task.cancelled() and (failed := task.exception()) is not None:
                raise Transient(f"the streams cannot go on: {failed!r}") from failed
        if crashed.done():
            reason = self.app.crash_reason
            raise Transient(f"Faust crashed: {reason!r}") from reason

    async def _end(self, started: asyncio.Task[Any]) -> None:
        if not started.done():
            started.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await started
        try:
            await asyncio.wait_for(self.app.stop(), STOP_S)
        except TimeoutError:
            self._log.warning("Faust did not stop in time; what it holds is read again at the next start")

    async def _revoked(self, _: Any, revoked: set[TP], **__: Any) -> None:
        self._detect.forget({tp.partition for tp in revoked if tp.topic == OBSERVATIONS})

    async def _log_start(self, topic: str, partition: int) -> int:
        consumer: Any = self.app.consumer
        place = TP(topic, partition)
        return int((await consumer.log_starts([place]))[place])


async def _first(*waits: Awaitable[Any]) -> None:
    """Returns when the first of them is done."""
    await asyncio.wait([asyncio.ensure_future(wait) for wait in waits], return_when=asyncio.FIRST_COMPLETED)
