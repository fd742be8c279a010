"""Outgoing messages: one lane per receiver, so that order holds for each and none waits for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.acts import SignalRequest
    from gpuward.contracts.identity import Entity, EntityKind
    from gpuward.contracts.messages import DELIVER, Message
    from gpuward.runtime import failpoints
    from workflows.background import Background
    from workflows.perform import perform, why

PER_SIGNAL = 100
PING: dict[str, Any] = {"kind": "ping"}
"""Asks a remediation whether it runs; it answers by saying its last report again."""


class Post:
    """Each lane has at most one signal on its way; what gathers meanwhile leaves as one signal, in order.

    A message leaves its lane only when it was delivered, so what a run leaves behind can be carried and sent again.
    """

    def __init__(self, background: Background, lost: Callable[[Entity, str], None]) -> None:
        """`lost` hears of a receiver that has ended (a remediation) or can never be reached."""
        self.lanes: dict[Entity, list[dict[str, Any]]] = {}
        self.paused = False
        self.signals = 0
        """External signals that the server has not answered yet."""
        self._going: list[Entity] = []
        self._background = background
        self._lost = lost

    @property
    def quiet(self) -> bool:
        """Nothing is on its way."""
        return not self._going

    def put(self, to: Entity, message: Message) -> None:
        """Queues it; `dispatch` sends."""
        self.lanes.setdefault(to, []).append(message.model_dump(mode="json"))

    def dispatch(self) -> None:
        """Starts all lanes that are not under way, together."""
        if self.paused:
            return
        for to in [to for to, lane in self.lanes.items() if lane and to not in self._going]:
            self._going.append(to)
            self._background.start(self._drive(to))

    async def _drive(self, to: Entity) -> None:
        lane = self.lanes[to]
        try:
            while lane and not self.paused:
                batch = lane[:PER_SIGNAL]
                await self._deliver(to, batch)
                del lane[: len(batch)]
            if not lane:
                del self.lanes[to]
        finally:
            self._going.remove(to)

    async def _deliver(self, to: Entity, batch: list[dict[str, Any]]) -> None:
        if await self.signal(to, batch):
            return
        if to.kind is EntityKind.REMEDIATION:
            self._lost(to, "it does not run")
            return
        try:
            await perform("actor.signal_with_start", SignalRequest.model_validate({"entity": to, "messages": batch}))
        except ActivityError as error:
            self._lost(to, why(error))

    async def signal(self, to: Entity, items: list[dict[str, Any]]) -> bool:
        """Whether the server has taken the signal; False: there is no such running workflow, or it takes no more."""
        self.signals += 1
        try:
            await workflow.get_external_workflow_handle(str(to)).signal(DELIVER, items)
        except FailureError:
            return False
        finally:
            self.signals -= 1
        if not workflow.unsafe.is_replaying():
            failpoints.hit("task completed")
        return True
