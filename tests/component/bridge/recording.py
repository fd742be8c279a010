"""Actors that only write down what they are told, under the names of the real ones."""

from __future__ import annotations

from typing import Any

from temporalio import workflow

from gpuward.contracts.actors import ActorInput

MANY = 40
"""Messages after which a recorder continues as new, as a real actor would."""


class _Recorder:
    def __init__(self, given: ActorInput) -> None:
        self._entity = given.entity
        self._seen: list[int] = list((given.state or {}).get("seen", []))
        self._before = len(self._seen)

    async def rest(self) -> None:
        await workflow.wait_condition(lambda: len(self._seen) - self._before >= MANY)
        workflow.continue_as_new(ActorInput(entity=self._entity, state={"seen": self._seen}))

    @workflow.signal
    def deliver(self, messages: list[dict[str, Any]]) -> None:
        self._seen += [int(message["fault_id"]) for message in messages]

    @workflow.query
    def seen(self) -> list[int]:
        return self._seen


@workflow.defn(name="NodeActor")
class NodeActor(_Recorder):
    @workflow.init
    def __init__(self, given: ActorInput) -> None:
        super().__init__(given)

    @workflow.run
    async def run(self, given: ActorInput) -> None:
        await self.rest()


@workflow.defn(name="RackActor")
class RackActor(_Recorder):
    @workflow.init
    def __init__(self, given: ActorInput) -> None:
        super().__init__(given)

    @workflow.run
    async def run(self, given: ActorInput) -> None:
        await self.rest()
