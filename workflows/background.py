"""Work that a workflow starts and does not wait for one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Background:
    """Tasks that nobody awaits. A defect in one fails the workflow task, as it would in `run`: `run` calls `check`."""

    def __init__(self) -> None:
        self.defect: BaseException | None = None
        self._open: dict[int, asyncio.Task[None]] = {}
        self._number = 0

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts it within this activation and keeps hold of it."""
        number = self._number
        self._number += 1
        task = asyncio.create_task(work)
        self._open[number] = task
        task.add_done_callback(lambda ended: self._ended(number, ended))
        return task

    def check(self) -> None:
        """Raises what a task died of."""
        if self.defect is not None:
            raise self.defect

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        self._open.pop(number, None)
        if not task.cancelled() and task.exception() is not None:
            self.defect = self.defect or task.exception()
