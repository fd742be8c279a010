"""Outcomes on their way to the ledger: numbered, kept until acknowledged, one append at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.acts import Append
    from gpuward.contracts.identity import Entity
    from gpuward.contracts.outcomes import Outcome, OutcomeKind
    from workflows.background import Background
    from workflows.decide.decisions import Note
    from workflows.perform import perform

if TYPE_CHECKING:
    from gpuward.contracts.outcomes import Cause

PER_APPEND = 100
MOST = 300
"""Beyond this many unacknowledged outcomes the oldest are dropped, and an alarm says how many: the state must stay small."""
MOST_TEXT = 2_000
"""Characters of one outcome's text: a person's reason may be a novel, and a hundred of them must fit into one append."""
BACKOFF_S = (1, 2, 4, 8, 16, 32, 60)

Checkpoint = Callable[[], dict[str, Any] | None]


class Outbox:
    """Law: Kafka being away delays nothing else. Each append is one short attempt; between attempts only this waits.

    An outcome's id is `<workflow id>/<ms of the first run's start>/<number>`: the same when an append is repeated, never the
    same again after continue-as-new (number and ms are carried) or resurrection (the ms differ).
    """

    def __init__(self, entity: Entity, background: Background, checkpoint: Checkpoint, epoch_ms: int) -> None:
        self.waiting: list[Outcome] = []
        self.number = 0
        self.dropped = 0
        self.paused = False
        self.in_flight = False
        self.epoch_ms = epoch_ms
        self._entity = entity
        self._background = background
        self._checkpoint = checkpoint
        self._wanted = 0
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    def note(self, note: Note) -> None:
        """Keeps a record of it, dated now. Nothing leaves before `flush`."""
        self.number += 1
        self.waiting.append(
            Outcome(
                id=f"{workflow.info().workflow_id}/{self.epoch_ms}/{self.number}",
                entity=self._entity,
                time=workflow.now(),
                what=note.what,
                name=note.name,
                before=note.before,
                after=note.after,
                result=note.result,
                text=note.text[:MOST_TEXT],
                cause=_signed(note.cause),
                details=note.details,
            )
        )
        if len(self.waiting) > MOST and not self.in_flight:
            self.dropped += len(self.waiting) - MOST
            del self.waiting[:-MOST]

    def flush(self) -> None:
        """Sends what waits now, in the background, as soon as the append in flight has ended."""
        self._wanted = self.number
        if self._task is None and self.waiting and not self.paused:
            self._task = self._background.start(self._send())

    def stop(self) -> None:
        """No further append in this run; one in flight may end."""
        self.paused = True
        if self._task is not None and not self.in_flight:
            self._task.cancel()

    async def _send(self) -> None:
        try:
            sent = self.number - len(self.waiting)
            while self.waiting and sent < self._wanted and not self.paused:
                if await self._append():
                    self._failures = 0
                else:
                    pause = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
                    self._failures += 1
                    await workflow.sleep(timedelta(seconds=pause))
                sent = self.number - len(self.waiting)
        finally:
            self._task = None

    async def _append(self) -> bool:
        batch = self.waiting[:PER_APPEND]
        newest = batch[-1].model_copy(update={"checkpoint": self._checkpoint()})
        self.in_flight = True
        try:
            await perform("ledger.append", Append(outcomes=(*batch[:-1], newest)))
        except ActivityError:
            return False
        finally:
            self.in_flight = False
        del self.waiting[: len(batch)]
        self._own_up()
        return True

    def _own_up(self) -> None:
        if self.dropped:
            dropped, self.dropped = self.dropped, 0
            text = f"{dropped} outcomes were dropped while the ledger was away"
            self.note(Note(OutcomeKind.ALARM, name="ledger.dropped", text=text))
            self._wanted = self.number


def _signed(cause: Cause) -> Cause:
    info = workflow.info()
    return cause.model_copy(update={"workflow_id": info.workflow_id, "run_id": info.run_id})
