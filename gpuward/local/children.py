"""Child processes that end with us: started in their own session, logged to a file, stopped gently and then not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpuward.local import tether

GRACE_S = 10.0
_LOG_LIMIT = 20_000_000

# The kernel kills a tethered child when the thread that forked it ends, so all are forked from this one: it waits for
# work until the process ends. An event loop may come and go, in any thread.
_FORKS = ThreadPoolExecutor(1, thread_name_prefix="gpuward-forks")


class Child:
    """One running child process. Made by `Child.start`; ended by exit, `kill` or `stop`.

    Law: no child outlives this process, also when this process is killed with SIGKILL (see `tether.py`).
    """

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path, began: int) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._log_began = began
        self._exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        threading.Thread(target=self._reap, args=(self._exited,), name=f"reap-{name}", daemon=True).start()

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Start `command` with its output appended to `log`. Needs a running event loop; blocks for some milliseconds.

        A command that can't be run shows as a child that exits with 125 and says so in its log.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        _rotate(log)
        shim = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid())]

        def fork() -> subprocess.Popen[bytes]:
            with log.open("ab") as output:
                return subprocess.Popen(  # noqa: S603 - a command of our own making
                    [*shim, *command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    pass_fds=tuple(pass_fds),
                    start_new_session=True,  # a Ctrl-C in the terminal is ours to hand on, in order
                )

        began = log.stat().st_size if log.exists() else 0
        return cls(name, _FORKS.submit(fork).result(), log, began)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return not self._exited.done()

    async def wait(self) -> int:
        """Its exit status, as soon as it has ended: negative is the signal that ended it."""
        return await asyncio.shield(self._exited)

    async def kill(self) -> None:
        """SIGKILL to it and to all that it started; returns when it is gone."""
        self._signal(signal.SIGKILL)
        await self.wait()

    async def stop(self, grace_s: float = GRACE_S) -> int:
        """SIGTERM, and SIGKILL to whoever has not ended `grace_s` later; returns its exit status when it is gone."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            try:
                async with asyncio.timeout(grace_s):
                    return await self.wait()
            finally:
                self._signal(signal.SIGKILL)
        return await self.wait()

    def last_lines(self, count: int = 15) -> str:
        """The end of what this child, and none before it, has written to its log."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._log_began, size - 64_000))
                text = file.read().decode("utf-8", errors="replace")
        except OSError as failure:
            return f"(its log can't be read: {failure})"
        return "\n".join(text.splitlines()[-count:]) or "(it wrote nothing)"

    def _signal(self, number: signal.Signals) -> None:
        # Until it is reaped its pid, which is also its group's id, can't be given to anyone else.
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _reap(self, exited: asyncio.Future[int]) -> None:
        status = self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            exited.get_loop().call_soon_threadsafe(exited.set_result, status)


def _rotate(log: Path) -> None:
    """Keep one older file: a stack that is started every day for a year does not fill the disk."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_LIMIT:
            log.replace(log.with_name(log.name + ".1"))
