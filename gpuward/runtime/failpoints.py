"""Named points at which a test kills the process. Nothing happens unless `GPUWARD_FAILPOINT` names the point.

`GPUWARD_FAILPOINT="act called"` kills at the first pass, `"act called:3"` at the third. Where `GPUWARD_FAILPOINT_ONCE`
names a file, the process dies only if it can create that file: the restarted process passes.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

POINTS = frozenset(
    {
        "fault acknowledged",
        "view written",
        "signal acknowledged",
        "offset committed",
        "decision taken",
        "task completed",
        "begin accepted",
        "act called",
        "answer returned",
        "parent signalled",
        "child completed",
    }
)
_passes: dict[str, int] = {}


def hit(point: str) -> None:
    """SIGKILL to this very process where the environment says so; else returns at once. Raises KeyError on an unknown name."""
    if point not in POINTS:
        raise KeyError(point)
    wanted = os.environ.get("GPUWARD_FAILPOINT")
    if wanted is None:
        return
    name, _, nth = wanted.partition(":")
    if name != point:
        return
    _passes[point] = _passes.get(point, 0) + 1
    if _passes[point] < int(nth or 1):
        return
    once = os.environ.get("GPUWARD_FAILPOINT_ONCE")
    if once is not None:
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            return
    os.kill(os.getpid(), signal.SIGKILL)
