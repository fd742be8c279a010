"""Runs a table of steps: each as soon as what it waits for has ended well, those that can at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from workflows.remediations.steps import Ended, Step, goes_on

Execute = Callable[[Step], Awaitable[Ended]]


class Runner:
    """`execute` runs one step; it returns how the step ended and raises only CancelledError or a defect.

    Law: after the first step that did not end well, or `stop`, no step begins. An irreversible step is never cancelled.
    """

    def __init__(self, steps: tuple[Step, ...], execute: Execute) -> None:
        self.begun: list[Step] = []
        self.ended: dict[str, Ended] = {}
        self.stopped: Ended | None = None
        self._steps = steps
        self._execute = execute
        self._running: dict[str, asyncio.Task[Ended]] = {}

    async def run(self) -> None:
        """Returns when nothing runs and nothing more may begin."""
        while True:
            self._begin()
            if not self._running:
                return
            await workflow.wait(list(self._running.values()), return_when=asyncio.FIRST_COMPLETED)
            for step in [step for step in self._steps if step.name in self._running]:
                if self._running[step.name].done():
                    self._end(step, self._running.pop(step.name))

    def stop(self, why: Ended) -> None:
        """Breaks off: what can be cancelled is, what cannot is waited for. The first reason stands."""
        if self.stopped is None:
            self.stopped = why
        for step in self._steps:
            if step.name in self._running and not step.irreversible:
                self._running[step.name].cancel()

    def to_undo(self) -> list[Step]:
        """Steps with an undo that were begun and not refused, newest first: one broken off midway may have happened."""
        return [step for step in reversed(self.begun) if step.undo and self._may_have_happened(step)]

    def _begin(self) -> None:
        if self.stopped is not None:
            return
        for step in self._steps:
            if step not in self.begun and all(name in self.ended for name in step.after):
                self.begun.append(step)
                self._running[step.name] = asyncio.ensure_future(self._execute(step))

    def _end(self, step: Step, task: asyncio.Task[Ended]) -> None:
        ended = Ended(step.name, "revoked", "broken off") if task.cancelled() else task.result()
        self.ended[step.name] = ended
        if not goes_on(step, ended):
            self.stop(ended)

    def _may_have_happened(self, step: Step) -> bool:
        ended = self.ended.get(step.name)
        return ended is None or ended.result != "refused"
