"""Exit codes, and the errors that lead to them.

0  done, or the answer is yes
1  the answer is no: unhealthy, refused, not found, not verified
2  the command or its settings are wrong
3  something cannot be reached: no stack runs there, or Kafka, Temporal or the records do not answer
130  interrupted
"""

from __future__ import annotations

from enum import IntEnum

from gpuward.contracts.errors import GpuwardError, Permanent, Transient


class Exit(IntEnum):
    """What the shell is told."""

    OK = 0
    NO = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130


class NoSuch(Permanent):
    """Nothing is called that. Exit 1."""


class Misused(Permanent):
    """The command was asked something that it cannot mean. Exit 2."""


class Unreachable(Transient):
    """Something does not answer. Exit 3."""


def exit_of(error: GpuwardError) -> Exit:
    """The exit code for an error that ended a command."""
    if isinstance(error, Transient):
        return Exit.UNREACHABLE
    return Exit.USAGE if isinstance(error, Misused) else Exit.NO
