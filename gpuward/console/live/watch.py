"""Watches a running fleet: as a picture in a terminal, as lines without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live

from gpuward.console.live.feed import Feed
from gpuward.console.live.screen import plain, screen
from gpuward.console.story import Line

_LOOK_S = 0.5
_KEPT = 500

Done = Callable[[Feed], str | None]
"""Asked after each look: None to go on, else the word that ends the watch."""


@dataclass
class Watch:
    """What is on the screen beside the fleet."""

    feed: Feed
    console: Console
    story: list[Line] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """A sentence of `up` itself: a line without a terminal, a notice on the picture with one."""
        self.notices.append(text)
        if not self.console.is_terminal:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    async def until(self, stop: asyncio.Event, done: Done = lambda _: None) -> str | None:
        """Shows what happens until `stop` is set (None) or `done` says a word."""
        if self.console.is_terminal:
            with Live(console=self.console, auto_refresh=False, vertical_overflow="crop", screen=True) as live:
                return await self._follow(stop, done, live)
        return await self._follow(stop, done, None)

    async def _follow(self, stop: asyncio.Event, done: Done, live: Live | None) -> str | None:
        while not stop.is_set():
            new = await self.feed.look()
            self.story = [*self.story, *new][-_KEPT:]
            if live is not None:
                live.update(screen(self.feed.entities, self.story, self.notices, self.advice), refresh=True)
            else:
                for told in new:
                    self.console.print(plain(told), highlight=False, markup=False, soft_wrap=True)
            word = done(self.feed)
            if word is not None:
                return word
            try:
                await asyncio.wait_for(stop.wait(), _LOOK_S)
            except TimeoutError:
                continue
        return None
