"""What the bridge needs of the dead letters: a place for a record that no actor can be told."""

from __future__ import annotations

from typing import Protocol

from streams.record import Record


class DeadLetters(Protocol):
    """Keeps a record with the reason why it could not be delivered, for a person to see and re-drive."""

    async def write(self, record: Record, *, reason: str, text: str) -> None:
        """Returns once Kafka keeps it. Raises Transient while it cannot."""
