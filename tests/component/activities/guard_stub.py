"""Workflows that stand in for the guard, an actor, and the caller of activities, on a real Temporal server."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actions import ACTIONS
    from gpuward.contracts.actors import ActorInput
    from gpuward.contracts.updates import Begin, BeginAnswer

CALLER_QUEUE = "test-caller"


@workflow.defn(name="StubGuard")
class StubGuard:
    """Answers `begin` with what it was started with: `begun`, a reason to refuse, or nothing at all (`mute`)."""

    @workflow.init
    def __init__(self, says: str) -> None:
        self._says = says
        self._asked: list[Begin] = []

    @workflow.run
    async def run(self, says: str) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def begin(self, ask: Begin) -> BeginAnswer:
        self._asked.append(ask)
        if self._says == "mute":
            await workflow.wait_condition(lambda: False)
        if self._says == "begun":
            return BeginAnswer(verdict="begun")
        return BeginAnswer(verdict="refused", reason=self._says)

    @workflow.query
    def asked(self) -> list[Begin]:
        return self._asked


@workflow.defn(name="NodeActor")
class StubActor:
    @workflow.init
    def __init__(self, start: ActorInput) -> None:
        self._entity = str(start.entity)
        self._items: list[dict[str, Any]] = []

    @workflow.run
    async def run(self, start: ActorInput) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.signal
    def deliver(self, items: list[dict[str, Any]]) -> None:
        self._items += items

    @workflow.query
    def heard(self) -> list[dict[str, Any]]:
        return [{"entity": self._entity}, *self._items]


@workflow.defn(name="StubCaller")
class StubCaller:
    """Performs one action by its row, as the real caller does; one attempt."""

    @workflow.run
    async def run(self, name: str, request: dict[str, Any]) -> Any:
        row = ACTIONS[name]
        return await workflow.execute_activity(
            row.name,
            row.request.model_validate(request),
            result_type=row.result,
            task_queue=row.queue,
            start_to_close_timeout=timedelta(seconds=row.start_to_close_s),
            heartbeat_timeout=None if row.heartbeat_s is None else timedelta(seconds=row.heartbeat_s),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
