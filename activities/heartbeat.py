"""Says that a long activity still lives, so that a lost worker is noticed within the row's heartbeat timeout."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from temporalio import activity

EVERY_S = 5.0


@contextlib.asynccontextmanager
async def beating(every_s: float = EVERY_S) -> AsyncIterator[None]:
    """Heartbeats at once and then steadily until the block ends; outside an activity it does nothing."""
    if not activity.in_activity():
        yield
        return
    task = asyncio.create_task(_beat(every_s))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _beat(every_s: float) -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(every_s)
