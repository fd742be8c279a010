"""One batch to its end: each item is taken by its actor or becomes a dead letter, until the actor is full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gpuward.runtime import failpoints, metrics
from streams.bridge.lanes import Batch, Waiting
from streams.bridge.letters import DeadLetters
from streams.bridge.patience import patiently
from streams.bridge.send import Courier, Full, Unfit
from streams.record import Record

T = TypeVar("T")


class Deliver:
    """Law: `settled` is called for the items of a batch in order, each once, and only after someone else keeps it."""

    def __init__(self, courier: Courier, letters: DeadLetters) -> None:
        self.courier = courier
        self._letters = letters
        self._signals = metrics.counter("gpuward_bridge_signals_total")

    async def deliver(
        self,
        batch: Batch[T],
        record_of: Callable[[T], Record],
        *,
        settled: Callable[[Waiting[T]], None],
        waiting: Callable[[], None] = lambda: None,
    ) -> Full | None:
        """None: all are settled. Full: the first that was not settled, and those after it, cannot be taken in now."""
        answer: Any = await self.courier.deliver(batch.target, batch.messages, waiting=waiting)
        if isinstance(answer, Full):
            return answer
        if isinstance(answer, Unfit):
            return await self._one_by_one(batch, record_of, answer, settled=settled, waiting=waiting)
        self._signals.labels(kind=str(batch.target.kind)).inc()
        failpoints.hit("signal acknowledged")
        for item in batch.items:
            settled(item)
        return None

    async def _one_by_one(
        self,
        batch: Batch[T],
        record_of: Callable[[T], Record],
        answer: Unfit,
        *,
        settled: Callable[[Waiting[T]], None],
        waiting: Callable[[], None],
    ) -> Full | None:
        """The server refused the signal for something in it: find out which message it was."""
        if len(batch.items) == 1:
            record = record_of(batch.items[0].ticket)
            text = f"Temporal refuses it: {answer.because}"
            await patiently(lambda: self._letters.write(record, reason="refused", text=text), what="dead letter")
            settled(batch.items[0])
            return None
        for item in batch.items:
            alone = Batch(batch.lane, batch.target, (item,))
            full = await self.deliver(alone, record_of, settled=settled, waiting=waiting)
            if full is not None:
                return full
        return None
