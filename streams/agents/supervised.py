"""The one thing around every agent body: what is wrong with the *event* becomes a dead letter, what is wrong with the
*world* ends the process before the event counts as done. Faust acknowledges an event whose agent raised; so nothing is
raised here, the body waits until the process has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gpuward.runtime import logging, metrics
from streams.agents.record import Record, Unusable
from streams.dead_letters import DeadLetters

Body = Callable[[Record], Awaitable[None]]


class Supervised:
    """Runs bodies. `crashed` is set with the first error of the world, and nothing is worked on after it."""

    def __init__(self, letters: DeadLetters) -> None:
        self._letters = letters
        self._log = logging.get("supervised")
        self.crashed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async def __call__(self, body: Body, record: Record) -> None:
        """Returns once the record is done for good: worked on, or kept as a dead letter."""
        try:
            try:
                await body(record)
            except Unusable as wrong:
                self._log.warning(
                    "dead letter", topic=record.topic, partition=record.partition, offset=record.offset, why=str(wrong)
                )
                await self._letters.write(record, reason=wrong.reason, text=str(wrong))
            metrics.counter("gpuward_streams_records_total").labels(record.topic).inc()
        except Exception as error:  # noqa: BLE001 - whatever it is, the event is not done
            self._crash(record, error)
            await asyncio.get_running_loop().create_future()

    def _crash(self, record: Record, error: BaseException) -> None:
        self._log.error(
            "crashing, the event stays",
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            error=repr(error),
            exc_info=error,
        )
        if not self.crashed.done():
            self.crashed.set_result(error)
