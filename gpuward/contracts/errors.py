"""The whole error vocabulary.

GpuwardError
├── Transient     will be retried: a broker away, a server busy
├── Permanent     will not: the event or the request itself is wrong
└── Refused       the interlock or a guard said no: a result, not an alarm
"""

from __future__ import annotations


class GpuwardError(Exception):
    """Says what was attempted, on which entity, and what to do next."""


class Transient(GpuwardError):
    """Will be retried."""


class Permanent(GpuwardError):
    """Will not be retried: the event or the request is wrong, not the world."""


class Refused(GpuwardError):
    """The interlock or a guard said no. Law: `refused` means that nothing was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
