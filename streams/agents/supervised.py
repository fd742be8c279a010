"""The one thing around every agent body.

What is wrong with the *event* becomes a dead letter; the bodies say so by `Unusable`. What is wrong with the *world* ends
the process before the event counts as done. Faust acknowledges an event whose agent raised; so nothing is raised here, the
body waits until the process has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from gpuward.runtime import logging
from streams.agents.record import Record

Body = Callable[[Sequence[Record]], Awaitable[None]]


class Supervised:
    """Runs bodies. `crashed` is set with the first error of the world, and nothing is worked on after it."""

    def __init__(self) -> None:
        self._log = logging.get("supervised")
        self.crashed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async def __call__(self, body: Body, records: Sequence[Record]) -> None:
        """Returns once the records are done for good: worked on, or kept as dead letters by the body."""
        try:
            await body(records)
        except Exception as error:  # noqa: BLE001 - whatever it is, the events are not done
            self._crash(records[0], error)
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
