"""`records.load`: what the records know of an actor that has lost its state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
from temporalio import activity

from gpuward.contracts.acts import LoadRequest
from gpuward.contracts.entities import EntityRecord, Loaded
from gpuward.contracts.identity import Entity

Reader = Callable[[Entity], Awaitable[EntityRecord | None]]
"""The newest record, None where there is none; raises when the records do not answer."""


class Loading:
    """Law: *none* (new, start fresh) is never said where the records did not answer."""

    def __init__(self, read: Reader) -> None:
        self._read = read

    @activity.defn(name="records.load")
    async def load(self, ask: LoadRequest) -> Loaded:
        """Never raises: what goes wrong is `unavailable`."""
        try:
            record = await self._read(ask.entity)
        except Exception as error:  # noqa: BLE001 - whatever it was, the actor stays amnesiac and asks again
            structlog.get_logger("records").warning("records do not answer", entity=ask.entity, error=repr(error))
            return Loaded(status="unavailable")
        return Loaded(status="none") if record is None else Loaded(status="found", record=record)
