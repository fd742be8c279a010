"""Follows a text file, or a pipe, that something else appends to: whole lines, through rotation and truncation."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

_CHUNK = 1 << 20
_HEAD = 256
_MAX_LINE = 1 << 16


class FileLine(NamedTuple):
    """`number` counts lines from 1 in this file; `identity` tells this file from the one that stood here before."""

    number: int
    identity: str
    text: str


class LogFile:
    """Reads what is new, never waits. A file that is not there yet is an empty one.

    Another file under the same name (rotation), or one whose beginning changed (truncation), is read from its start,
    after the rest of the old one. The identity is a hash of the first line, so that reading the same file again, in this
    process or another, numbers the lines the same way.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._regular = True
        self._begin()

    def read(self, most_bytes: int) -> Iterator[FileLine]:
        """New whole lines, at most about `most_bytes`; what is left comes with the next call."""
        budget = most_bytes
        while budget > 0:
            if self._descriptor is None and not self._open():
                return
            data = self._next(min(_CHUNK, budget))
            if data:
                budget -= len(data)
                yield from self._lines(data)
            elif not self._replaced():
                return
            else:
                yield from self._last_line()
                self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._begin()

    def _begin(self) -> None:
        self._offset = 0
        self._number = 0
        self._rest = b""
        self._head = b""
        self._identity = ""
        self._skipping = False

    def _open(self) -> bool:
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self._regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        return True

    def _next(self, size: int) -> bytes:
        assert self._descriptor is not None
        if self._regular and self._rewritten(self._descriptor):
            self._begin()
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        try:
            data = os.read(self._descriptor, size)
        except BlockingIOError:
            return b""
        if len(self._head) < _HEAD and self._offset == len(self._head):
            self._head += data[: _HEAD - len(self._head)]
        self._offset += len(data)
        return data

    def _rewritten(self, descriptor: int) -> bool:
        """Shorter than what was read, or beginning otherwise: truncated, and perhaps grown again."""
        if os.fstat(descriptor).st_size < self._offset:
            return True
        return os.pread(descriptor, len(self._head), 0) != self._head

    def _replaced(self) -> bool:
        assert self._descriptor is not None
        if not self._regular:
            return False
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        here = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)

    def _lines(self, data: bytes) -> Iterator[FileLine]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if self._skipping:
                self._skipping = False
            else:
                yield self._line(line)
        if len(self._rest) > _MAX_LINE:
            if not self._skipping:
                yield self._line(self._rest[:_MAX_LINE])
            self._skipping, self._rest = True, b""

    def _last_line(self) -> Iterator[FileLine]:
        """A file that will not grow any more may end without a newline."""
        if self._rest and not self._skipping:
            yield self._line(self._rest)
        self._rest = b""

    def _line(self, line: bytes) -> FileLine:
        if not self._identity:
            self._identity = blake2b(line, digest_size=8).hexdigest()
        self._number += 1
        return FileLine(self._number, self._identity, line.rstrip(b"\r").decode("utf-8", "replace"))
