"""Actors that only write down what they are told, under the names of the real ones."""

from __future__ import annotations

from typing import Any

from temporalio import workflow

from gpuward.contracts.actors import ActorInput


class _Recorder:
    def __init__(self, given: ActorInput) -> None:
        self._entity = str(given.entity)
        self._seen: list[int] = []

    async def run(self, given: ActorInput) -> None:
        await workflow.wait_condition(lambda: False)

    def deliver(self, messages: list[dict[str, Any]]) -> None:
        self._seen += [int(message["fault_id"]) for message in messages]

    def seen(self) -> list[int]:
        return self._seen


@workflow.defn(name="NodeActor")
class NodeActor(_Recorder):
    @workflow.init
    def __init__(self, given: ActorInput) -> None:
        super().__init__(given)

    @workflow.run
    async def run(self, given: ActorInput) -> None:
        await super().run(given)

    @workflow.signal
    def deliver(self, messages: list[dict[str, Any]]) -> None:
        super().deliver(messages)

    @workflow.query
    def seen(self) -> list[int]:
        return super().seen()


@workflow.defn(name="RackActor")
class RackActor(_Recorder):
    @workflow.init
    def __init__(self, given: ActorInput) -> None:
        super().__init__(given)

    @workflow.run
    async def run(self, given: ActorInput) -> None:
        await super().run(given)

    @workflow.signal
    def deliver(self, messages: list[dict[str, Any]]) -> None:
        super().deliver(messages)

    @workflow.query
    def seen(self) -> list[int]:
        return super().seen()
