"""Is that process still the one that was meant?"""

from __future__ import annotations

from pathlib import Path


def started_at(pid: int) -> int | None:
    """When process `pid` started, in clock ticks since boot; None when it is gone, or dead and only not yet reaped.

    A pid together with this number names one process and never a later one that was given the same pid.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name stands in parentheses and may itself hold spaces and parentheses: count from the last one.
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(rest[18])
