"""What a message of several lines has opened and not yet closed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

WINDOW = 64
"""Lines of other origin that may stand between the lines of one message, counted in kernel sequence numbers."""
_MOST = 256


class Pending:
    """Heads by key, each with the sequence number where it was seen. Bounded: the oldest is forgotten first."""

    def __init__(self) -> None:
        self._heads: OrderedDict[Hashable, int] = OrderedDict()

    def open(self, key: Hashable, sequence: int) -> None:
        self._heads[key] = sequence
        self._heads.move_to_end(key)
        if len(self._heads) > _MOST:
            self._heads.popitem(last=False)

    def has(self, key: Hashable, sequence: int) -> bool:
        """Whether a head with this key stands close enough before `sequence`."""
        head = self._heads.get(key)
        return head is not None and 0 <= sequence - head <= WINDOW

    def take(self, key: Hashable, sequence: int) -> bool:
        """As `has`, and closes it: each head takes one tail."""
        found = self.has(key, sequence)
        self._heads.pop(key, None)
        return found

    def clear(self) -> None:
        self._heads.clear()
