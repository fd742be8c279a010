"""Run a command that can't outlive the process that started it: `python tether.py PARENT_PID COMMAND…`.

The kernel is asked to kill this process when its parent ends, however it ends, and then this process *becomes* the
command: the request survives `exec`, so nothing stands in between and the pid stays. Two traps of the request:

- It fires when the *thread* that forked ends, not the process. Whoever starts a tether forks from a thread that lives
  as long as its process (`children.py` keeps one for this).
- A parent that ended before the request was made is not noticed by it. Hence the look at the parent's pid afterwards.

Only the standard library, and run by its path: it starts in some 15 ms and needs no package to be importable.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
EXIT_UNTETHERED = 125
"""The parent was gone, or the kernel refused: nothing was run."""


def tether(parent_pid: int, command: list[str]) -> None:
    """Become `command`, tied to `parent_pid`. Returns only if that parent is gone; else raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() == parent_pid:
        os.execvp(command[0], command)  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    try:
        tether(int(sys.argv[1]), sys.argv[2:])
    except OSError as failure:
        sys.stderr.write(f"tether: {sys.argv[2]}: {failure}\n")
    sys.exit(EXIT_UNTETHERED)
