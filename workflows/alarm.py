"""One timer for the nearest absolute deadline, set again only when that deadline changes."""

from __future__ import annotations

import asyncio
from datetime import datetime

from temporalio import workflow

SOON_S = 0.001
AGAIN_S = 1.0
"""A deadline that has rung and still lies in the past rings again after this long, never at once."""


class Alarm:
    """`rung` is set when the deadline has passed; whoever sees it resets it by `taken`."""

    def __init__(self) -> None:
        self.rung = False
        self._at: datetime | None = None
        self._last: datetime | None = None
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, at: datetime | None) -> None:
        """Rings at `at`; None: not at all. The same deadline again costs nothing."""
        if at == self._at:
            return
        self.disarm()
        self._at = at
        if at is None:
            return
        now = workflow.now()
        delay = (at - now).total_seconds()
        if delay <= 0:
            delay = AGAIN_S if self._last is not None and (now - self._last).total_seconds() < AGAIN_S else SOON_S
        self._handle = asyncio.get_running_loop().call_later(delay, self._ring)

    def disarm(self) -> None:
        """Takes the timer back."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._at = None

    def taken(self) -> bool:
        """Whether it has rung since the last call."""
        rung, self.rung = self.rung, False
        return rung

    def _ring(self) -> None:
        self._handle = self._at = None
        self._last = workflow.now()
        self.rung = True
