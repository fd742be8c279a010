"""Choose the ports of a stack: those of its last run where they are still free, so that clients find it again."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuward.contracts.errors import Permanent

LOOPBACK = "127.0.0.1"
_LOWEST = 20_000


def choose_ports(names: Iterable[str], previous: Mapping[str, int]) -> dict[str, int]:
    """A distinct free port for each name: the `previous` one where it is still free.

    Nothing holds the ports until the servers listen on them. They are chosen from below the range that the kernel gives
    to outgoing connections: while a server there is down, a client that keeps trying to connect to it could be given
    the very same port, connect to itself, and keep the server from coming back.
    """
    chosen: dict[str, int] = {}
    for name in names:
        kept = previous.get(name)
        if kept is not None and kept not in chosen.values() and is_free(kept):
            chosen[name] = kept
        else:
            chosen[name] = _fresh(taken=set(previous.values()) | set(chosen.values()))
    return chosen


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` of the loopback address now."""
    with socket.socket() as probe:
        # As the servers do it: connections of the last run that are still in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen()
        except OSError:
            return False
    return True


def _fresh(taken: set[int]) -> int:
    candidates = range(_LOWEST, _first_ephemeral())
    for port in random.sample(candidates, k=len(candidates)):
        if port not in taken and is_free(port):
            return port
    raise Permanent(f"No free port between {candidates.start} and {candidates.stop} on {LOOPBACK}: end what uses them.")


def _first_ephemeral() -> int:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
        first = int(text.split()[0])
    except (OSError, ValueError, IndexError):
        first = 32_768
    # Some hosts give nearly everything to outgoing connections: then there is no safe range, and any will do.
    return first if first > _LOWEST + 100 else 32_768
