"""How far one partition may be committed: the highest contiguous acknowledged record. Pure."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class _Begun(NamedTuple):
    offset: int
    time_s: float
    size: int


class Progress:
    """What was read of one partition, and what of it is acknowledged, in any order.

    Offsets rise but need not be dense: a compacted log has holes. Law: `position` never passes a record that was begun
    and not acknowledged.
    """

    __slots__ = ("_begun", "_done", "_next", "_open_bytes")

    def __init__(self) -> None:
        self._begun: deque[_Begun] = deque()
        self._done: set[int] = set()
        self._next: int | None = None
        self._open_bytes = 0

    def begin(self, offset: int, *, time_s: float = 0.0, size: int = 0) -> None:
        """A record was read. `time_s` is its timestamp. Raises ValueError when offsets do not rise."""
        if self._next is not None and offset < self._next:
            raise ValueError(f"offset {offset} was read after {self._next - 1}")
        self._begun.append(_Begun(offset, time_s, size))
        self._next = offset + 1
        self._open_bytes += size

    def acknowledge(self, offset: int) -> None:
        """Someone keeps the record from now on. Raises ValueError when it was not begun, or acknowledged before."""
        if self._next is None or not self._begun or offset < self._begun[0].offset or offset >= self._next:
            raise ValueError(f"offset {offset} is not open")
        if offset in self._done:
            raise ValueError(f"offset {offset} is acknowledged already")
        self._done.add(offset)
        while self._begun and self._begun[0].offset in self._done:
            begun = self._begun.popleft()
            self._done.discard(begun.offset)
            self._open_bytes -= begun.size

    @property
    def position(self) -> int | None:
        """The offset to commit: that of the first record that is not acknowledged. None: nothing was read yet."""
        return self._begun[0].offset if self._begun else self._next

    @property
    def held(self) -> int:
        """Records from the first unacknowledged one on: what a crash would bring again."""
        return len(self._begun)

    @property
    def held_bytes(self) -> int:
        return self._open_bytes

    @property
    def outstanding(self) -> int:
        """Records not yet acknowledged."""
        return len(self._begun) - len(self._done)

    @property
    def oldest_s(self) -> float | None:
        """Timestamp of the first record that is not acknowledged."""
        return self._begun[0].time_s if self._begun else None
