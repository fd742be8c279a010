"""One stack per data directory, and none before the servers of the last one are gone."""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path
from typing import Self

from gpuward.contracts.errors import Permanent
from gpuward.local.liveness import started_at

NAME = "stack.lock"
_DYING_S = 15.0


class DataLock:
    """Holds `data_dir` for as long as this process or any server that was given `fd` lives.

    Law: two stacks never run on one data directory. The kernel lets go of the lock with its last holder, so a crash
    leaves nothing to clean up, and a stack that starts right after one waits for servers that are still ending.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    async def take(cls, data_dir: Path) -> Self:
        """Raises `Permanent` when another stack runs there."""
        fd = _open(data_dir)
        try:
            await _lock(fd, data_dir)
        except BaseException:
            os.close(fd)
            raise
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {started_at(os.getpid())}\n".encode(), 0)
        return cls(fd)

    def release(self) -> None:
        os.close(self.fd)


def _open(data_dir: Path) -> int:
    data_dir.mkdir(parents=True, exist_ok=True)
    return os.open(data_dir / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


async def _lock(fd: int, data_dir: Path) -> None:
    deadline = asyncio.get_running_loop().time() + _DYING_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(fd, 100, 0).decode()
            if _alive(owner) or asyncio.get_running_loop().time() > deadline:
                raise Permanent(
                    f"Another stack runs on {data_dir} (process {owner.split()[0] if owner.strip() else 'unknown'}):"
                    " stop it, or give this one another directory with --data.",
                ) from None
            # Its owner is dead and the kernel is ending its servers; flock can't be awaited, so look again shortly.
            await asyncio.sleep(0.05)
        else:
            return


def _alive(owner: str) -> bool:
    match owner.split():
        case [pid, started]:
            return started_at(int(pid)) == int(started)
        case _:
            return False  # it took the lock a moment ago and has not said who it is
