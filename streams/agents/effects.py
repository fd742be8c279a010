"""What working on records asks for. Nothing has happened yet; everything is acknowledged before any view is written."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from gpuward.contracts.faults import Fault
from gpuward.contracts.inventory import InventoryChanged
from streams.agents.publish import Publisher
from streams.agents.record import Record, Unusable
from streams.dead_letters import DeadLetters


@dataclass(slots=True)
class Effects:
    """In the order in which they were asked for."""

    faults: list[Fault] = field(default_factory=list)
    changes: list[InventoryChanged] = field(default_factory=list)
    reroutes: list[Record] = field(default_factory=list)
    letters: list[tuple[Record, Unusable]] = field(default_factory=list)

    async def carry_out(self, publisher: Publisher, letters: DeadLetters) -> None:
        """Returns once Kafka has acknowledged all of it. Raises Transient while it cannot."""
        await asyncio.gather(
            publisher.faults(self.faults),
            publisher.changes(self.changes),
            *(publisher.reroute(record) for record in self.reroutes),
            *(letters.write(record, reason=why.reason, text=str(why)) for record, why in self.letters),
        )
