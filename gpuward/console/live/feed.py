"""What is new in the records since the last look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gpuward.console.story import Line, Told, lines
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.errors import Transient
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.runtime.records import Records

_LOOK_BACK_MS = 120_000
"""Outcomes of different actors reach the ledger in another order than they happened; older ones are not waited for."""
_MOST = 100_000
_DULL = frozenset({OutcomeKind.BORN, OutcomeKind.RESEATED})


class Feed:
    """Looks at the records again and again. While they do not answer, nothing is new."""

    def __init__(self, records: Records, since_ms: int) -> None:
        self._records = records
        self._since_ms = since_ms
        self._seen: set[str] = set()
        self._newest_ms = since_ms
        self.entities: list[EntityRecord] = []
        self.told: list[Told] = []
        """Every outcome since the beginning, dull ones left out."""
        self._looked = asyncio.Condition()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until a look has found that it holds. Somebody else looks."""
        async with self._looked:
            await self._looked.wait_for(holds)

    async def look(self) -> list[Line]:
        """The lines that were not there at the last look, in order."""
        try:
            self.entities = await self._records.entities()
            since = max(self._since_ms, self._newest_ms - _LOOK_BACK_MS)
            found = await self._records.outcomes(since_ms=since, limit=_MOST)
        except Transient:
            return []
        new = [told for told in found if told[0].id not in self._seen]
        self._seen.update(outcome.id for outcome, _, _ in new)
        if found:
            self._newest_ms = max(self._newest_ms, int(found[-1][0].time.timestamp() * 1000))
        kept = [told for told in new if told[0].what not in _DULL]
        self.told.extend(kept)
        async with self._looked:
            self._looked.notify_all()
        return lines(kept)
