"""A world that is alive: a state, a clock, and the file that it is kept in."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from gpuward.simulator import world
from gpuward.simulator.state import WorldState
from gpuward.simulator.store import Store

TICK_S = 0.1
SAVE_S = 0.5


class World:
    """A state with a clock and a file. Not thread-safe: one event loop owns it."""

    def __init__(self, state: WorldState, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.state = state
        self._store = store
        self._clock = clock
        self._dirty = False

    def now(self) -> float:
        """Brings the world up to the present and says when that is."""
        now = self._clock()
        self._dirty |= world.advance(self.state, now)
        return now

    def keep(self) -> None:
        """Writes the state now: what has been answered is not forgotten by a kill."""
        self._store.save(self.state)
        self._dirty = False

    async def run(self, stop: asyncio.Event) -> None:
        """Lets time pass until `stop`."""
        saved = 0.0
        while not stop.is_set():
            self.now()
            if self._dirty and time.monotonic() - saved > SAVE_S:
                self.keep()
                saved = time.monotonic()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TICK_S)
        self.keep()
