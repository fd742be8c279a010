"""How far one partition may be committed: the highest contiguous acknowledged record. Pure."""

from __future__ import annotations

from collections import deque


class Progress:
    """What was read of one partition, and what of it is acknowledged, in any order.

    Offsets rise but need not be dense: a compacted log has holes. Law: `position` never passes a record that was begun
    and not acknowledged.
    """

    __slots__ = ("_begun", "_next", "_sizes", "outstanding_bytes")

    def __init__(self) -> None:
        self._begun: deque[tuple[int, float]] = deque()
        """Offset and timestamp of each record from the first open one on."""
        self._sizes: dict[int, int] = {}
        """Of open records only."""
        self._next: int | None = None
        self.outstanding_bytes = 0

    def begin(self, offset: int, *, time_s: float = 0.0, size: int = 0) -> None:
        """A record was read. `time_s` is its timestamp. Raises ValueError when offsets do not rise."""
        if self._next is not None and offset < self._next:
            raise ValueError(f"offset {offset} was read after {self._next - 1}")
        self._begun.append((offset, time_s))
        self._sizes[offset] = size
        self._next = offset + 1
        self.outstanding_bytes += size

    def acknowledge(self, offset: int) -> None:
        """Someone else keeps the record from now on. Raises ValueError when it is not open."""
        size = self._sizes.pop(offset, None)
        if size is None:
            raise ValueError(f"offset {offset} is not open")
        self.outstanding_bytes -= size
        while self._begun and self._begun[0][0] not in self._sizes:
            self._begun.popleft()

    @property
    def position(self) -> int | None:
        """The offset to commit: that of the first record that is not acknowledged. None: nothing was read yet."""
        return self._begun[0][0] if self._begun else self._next

    @property
    def held(self) -> int:
        """Records from the first open one on: what a crash would bring again."""
        return len(self._begun)

    @property
    def outstanding(self) -> int:
        """Records not yet acknowledged."""
        return len(self._sizes)

    def fill(self, most_outstanding: int, most_bytes: int, most_held: int) -> float:
        """How full it is against the nearest of three bounds; 1.0 and more is over."""
        return max(self.outstanding / most_outstanding, self.outstanding_bytes / most_bytes, self.held / most_held)

    @property
    def oldest_s(self) -> float | None:
        """Timestamp of the first record that is not acknowledged."""
        return self._begun[0][1] if self._begun else None
