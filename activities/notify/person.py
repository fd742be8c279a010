"""`notify.person`: a person is told, with a deadline and a default: in the log and in the ledger; webhooks come later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog
from temporalio import activity

from gpuward.contracts.acts import Nothing, PersonAsked
from gpuward.contracts.outcomes import Cause, Outcome, OutcomeKind

Record = Callable[[Outcome], Awaitable[None]]
"""Puts one outcome into the ledger; raises Transient while it is away."""


class Notify:
    """Telling twice is harmless: the outcome has one id per plan and attempt."""

    def __init__(self, record: Record, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._record = record
        self._clock = clock

    @activity.defn(name="notify.person")
    async def person(self, ask: PersonAsked) -> Nothing:
        """The log first, since it is always there. Raises Transient while the ledger is away."""
        structlog.get_logger("person").warning("a person is asked", **ask.model_dump(mode="json"))
        await self._record(
            Outcome(
                id=f"{ask.entity}/{ask.plan}/{ask.attempt}/told",
                entity=ask.entity,
                time=self._clock(),
                what=OutcomeKind.ACT,
                name="notify.person",
                result="done",
                text=ask.text,
                cause=Cause(plan=ask.plan, attempt=ask.attempt),
                details={"deadline": ask.deadline and ask.deadline.isoformat(), "default": ask.default},
            )
        )
        return Nothing()
