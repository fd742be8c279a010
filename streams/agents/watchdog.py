"""Agents may stop while the worker looks alive: what was worked on and is not committed for long ends the process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from gpuward.contracts.errors import Transient

STUCK_S = 120.0
LOOK_EVERY_S = 5.0


class Watchdog:
    """Compares the end of each source partition with what is committed. Raises Transient when one that has work left
    commits nothing for `stuck_s`.
    """

    def __init__(
        self, app: Any, due: Callable[[str, int], int | None] = lambda *_: None, *, stuck_s: float = STUCK_S
    ) -> None:
        """`due` says which offset of a partition is worked on next, where that is known."""
        self._app = app
        self._due = due
        self._stuck_s = stuck_s
        self._moved: dict[Any, tuple[int | None, float]] = {}

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        """One look at `now`, monotonic seconds."""
        consumer = self._app.consumer
        if self._app.rebalancing or not self._app.tables.recovery.completed.is_set():
            self._moved.clear()
            return
        for tp in consumer.assignment():
            if consumer._is_changelog_tp(tp):  # noqa: SLF001
                continue
            committed = consumer._committed_offset[tp]  # noqa: SLF001
            behind = (consumer.highwater(tp) or 0) - (committed or 0)
            last, since = self._moved.get(tp, (None, now))
            due = self._due(tp.topic, tp.partition)
            rereading = due is not None and due < (committed or 0)
            if behind <= 0 or rereading or committed != last or tp not in self._moved:
                self._moved[tp] = (committed, now)
            elif now - since > self._stuck_s:
                raise Transient(
                    f"{tp.topic}/{tp.partition}: {behind} records wait and nothing was committed for {now - since:.0f} s"
                )
