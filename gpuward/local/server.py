"""One server of the stack: it can be killed and restarted on the same data and the same port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuward.contracts.errors import Permanent
from gpuward.local.children import GRACE_S, Child

READY_S = 90.0  # a broker that was killed reads its logs again before it answers
_PROBE_EVERY_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that it takes to run a server, again and again."""

    name: str
    address: str
    """host:port that clients use; the same after each restart."""
    command: Sequence[str]
    directory: Path
    log: Path
    env: Mapping[str, str] | None
    ready: Callable[[], Awaitable[bool]]
    """Asks the server a real question; False or OSError while it can't answer yet."""


class Server:
    """A server as a child process. `start` returns when it answers; `kill` and `stop` when it is gone."""

    def __init__(self, recipe: Recipe, *, pass_fds: Sequence[int] = (), changed: Callable[[], None]) -> None:
        """`changed` is called whenever the server has another pid, or none."""
        self._recipe = recipe
        self._pass_fds = pass_fds
        self._changed = changed
        self._child: Child | None = None
        self._told_to_end = True
        self._started = asyncio.Event()

    @property
    def name(self) -> str:
        return self._recipe.name

    @property
    def address(self) -> str:
        return self._recipe.address

    @property
    def pid(self) -> int | None:
        """None while it is down."""
        return self._child.pid if self._child is not None and self._child.running else None

    async def start(self, ready_s: float = READY_S) -> None:
        """Start it and wait until it answers. Raises `Permanent` with the end of its log if it does not."""
        assert self.pid is None, f"{self.name} is running already"
        recipe = self._recipe
        recipe.directory.mkdir(parents=True, exist_ok=True)
        child = self._child = Child.start(
            recipe.name,
            recipe.command,
            log=recipe.log,
            env=recipe.env,
            cwd=recipe.directory,
            pass_fds=self._pass_fds,
        )
        self._told_to_end = True  # until it answers, its end is reported by this very call
        self._changed()
        ended = asyncio.ensure_future(child.wait())
        try:
            async with asyncio.timeout(ready_s):
                while child.running and not await self._answers():
                    # Asking is the only way to know, and the first answer is the event. An exit ends the wait at once.
                    await asyncio.wait([ended], timeout=_PROBE_EVERY_S)
        except TimeoutError:
            await child.kill()
            raise Permanent(self._report(f"gave no answer on {self.address} for {ready_s:.0f} s")) from None
        except BaseException:
            await child.kill()
            raise
        finally:
            ended.cancel()
        if not child.running:
            raise Permanent(self._report(f"ended while it started, with status {await child.wait()}"))
        self._told_to_end = False
        self._started.set()

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """SIGTERM, and SIGKILL after `grace_s`. Nothing to do if it is down."""
        if child := self._let_go():
            await child.stop(grace_s)
            self._changed()

    async def kill(self) -> None:
        """SIGKILL, as a crash would; `start` brings it back on the same data."""
        if child := self._let_go():
            await child.kill()
            self._changed()

    async def restart(self) -> None:
        """Stop it if it runs, and start it on the same data and the same port; also what follows a `kill`."""
        await self.stop()
        await self.start()

    async def unexpected_exit(self) -> Permanent:
        """Waits until the server ends though nobody told it to; the error says so, with the end of its log."""
        while True:
            await self._started.wait()
            assert self._child is not None
            status = await self._child.wait()
            if not self._told_to_end:
                self._changed()
                return Permanent(self._report(f"ended by itself with status {status}"))

    def _let_go(self) -> Child | None:
        self._told_to_end = True
        self._started.clear()
        return self._child if self.pid is not None else None

    async def _answers(self) -> bool:
        try:
            return await self._recipe.ready()
        except OSError:
            return False

    def _report(self, what: str) -> str:
        assert self._child is not None
        return f"{self.name} {what}. The end of {self._recipe.log}:\n{self._child.last_lines()}"
