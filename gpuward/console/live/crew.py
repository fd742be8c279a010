"""The processes of `gpuward up`: started by name as children, started again when one dies, ended with us."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuward.local.children import Child

WORLD = "world"
PROCESSES = ("agent", "streams", "bridge", "decide", "act", "projector")
"""In the order in which the flow runs; they may start in any."""
_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
_STEADY_S = 60.0
"""A process that lived this long starts again at once when it dies."""

Say = Callable[[str], None]


class Crew:
    """Law: while the crew lives, each of its processes does, or is about to; each death is said."""

    def __init__(self, data: Path, env: Mapping[str, str], say: Say) -> None:
        """`env` is what the children are told besides our own environment."""
        self._data = data
        self._env = {**os.environ, **env}
        self._say = say
        self._children: dict[str, Child] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._ending = False
        self.deaths: dict[str, int] = {}

    def start(self, name: str) -> None:
        """Starts the process and keeps it alive."""
        (self._data / "health" / name).unlink(missing_ok=True)  # of an earlier run: it would be asked for nothing
        self._keepers[name] = asyncio.create_task(self._keep(name), name=f"keep-{name}")

    def pids(self) -> dict[str, int]:
        """Name → process id of those that run now."""
        return {name: child.pid for name, child in self._children.items() if child.running}

    def last_lines(self, name: str) -> str:
        """The end of what the process has written."""
        child = self._children.get(name)
        return child.last_lines() if child else "(it has not been started)"

    async def stop(self) -> None:
        """SIGTERM to all, in the order of the flow, and SIGKILL to whoever has not drained in time."""
        self._ending = True
        for keeper in self._keepers.values():
            keeper.cancel()
        await asyncio.gather(*self._keepers.values(), return_exceptions=True)
        await asyncio.gather(*(child.stop() for child in self._children.values() if child.running))

    async def _keep(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        quick = 0
        while not self._ending:
            began = loop.time()
            child = self._children[name] = Child.start(
                name, self._command(name), log=self._data / "logs" / f"{name}.log", env=self._env
            )
            status = await child.wait()
            self.deaths[name] = self.deaths.get(name, 0) + 1
            quick = 0 if loop.time() - began > _STEADY_S else quick + 1
            self._say(f"{name} {_ended(status)} and is started again; its log is {child.log}.")
            await asyncio.sleep(_PAUSES_S[min(quick, len(_PAUSES_S) - 1)])

    def _command(self, name: str) -> list[str]:
        return [sys.executable, "-m", "gpuward", name, "--data", str(self._data)]


def _ended(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
