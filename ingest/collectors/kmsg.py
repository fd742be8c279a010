"""Reads `/dev/kmsg`: one record per read, numbered by the kernel.

Source: Linux `Documentation/ABI/testing/dev-kmsg`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_RECORD = 8192


class KmsgRecord(NamedTuple):
    """`text` has its prefix `level,sequence,usec,flags;` still, and no dictionary lines."""

    sequence: int
    text: str


class Kmsg:
    """Begins at the oldest record that the kernel still holds: ids make it harmless to read one twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self.overruns = 0
        """How often the ring buffer overwrote records before they were read."""

    def read(self, most_records: int) -> Iterator[KmsgRecord]:
        """New records, at most so many; never waits. Raises OSError where the device cannot be opened."""
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        for _ in range(most_records):
            try:
                data = os.read(self._descriptor, _RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:
                self.overruns += 1
                continue
            if not data:
                return
            record = parse_record(data)
            if record is not None:
                yield record

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def parse_record(data: bytes) -> KmsgRecord | None:
    """The record without its dictionary (lines that begin with a space); None for what is no record."""
    text = data.decode("utf-8", "replace").partition("\n")[0]
    match text.partition(";")[0].split(","):
        case [_, sequence, _, _, *_] if sequence.isascii() and sequence.isdigit():
            return KmsgRecord(int(sequence), text)
    return None
