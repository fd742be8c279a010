"""The activities of both sides, in one process: the first activity of a chain says when it began, and holds its repair back
while the gate is shut. The ledger of the real side is the real one, on Kafka; the floor's append does nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from activities.actors.signal import Actors
from activities.ledger.append import Ledger
from gpuward.console.bench import floor
from gpuward.console.bench.fleet import BOOT
from gpuward.contracts import acts
from gpuward.contracts.actions import ACTIONS, Effect
from gpuward.contracts.entities import Loaded
from gpuward.contracts.updates import Begin, BeginAnswer
from gpuward.runtime.kafka import Producer

SESSION = "1750000001"
Answer = Callable[[Any], Awaitable[Any]]


class Hands:
    """`begun[chain]` is when the first activity of a chain began, in seconds of the monotonic clock."""

    def __init__(self, client: Client, producer: Producer) -> None:
        self.begun: dict[str, float] = {}
        self.handed_back: list[str] = []
        """Nodes whose repair has ended, in order."""
        self.gate = asyncio.Event()
        self._client = client
        self._ledger = Ledger(producer)
        self._actors = Actors(client)
        self._moved = time.monotonic()

    async def until_quiet(self, for_s: float = 1.0) -> None:
        """Returns when nothing but held back first activities was asked for this long."""
        while (left := self._moved + for_s - time.monotonic()) > 0:  # noqa: ASYNC110 - the lack of an event is awaited
            await asyncio.sleep(left)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Both sides' workers: two each, one for acts and one for the ledger, as `act` has."""
        queues: dict[str, list[Callable[..., Any]]] = {
            floor.ACT_QUEUE: [_activity(floor.FIRST, floor.Letter, self._floor_first)],
            floor.LEDGER_QUEUE: [_activity(floor.APPEND, dict[str, Any], self._seen(_nothing))],
        }
        answers = self._answers()
        for action in ACTIONS.values():
            answer = self._seen(answers.get(action.name) or self._begin_and(action.name))
            queues.setdefault(action.queue, []).append(_activity(action.name, action.request, answer))
        async with AsyncExitStack() as stack:
            for queue, activities in queues.items():
                await stack.enter_async_context(
                    Worker(self._client, task_queue=queue, activities=activities, max_concurrent_activities=100)
                )
            yield

    def _answers(self) -> dict[str, Answer]:
        """A node that is well at once, whatever is done to it."""
        sessions = acts.SessionSeen(seen=True, boot_id=BOOT, sessions={"g": SESSION})
        return {
            "node.recheck": self._recheck,
            "node.cordon": _always(acts.CordonResult(result="done")),
            "node.uncordon": self._uncordon,
            "node.await_session": _always(sessions),
            "node.validate": _always(acts.Validation(passed=True, boot_id=BOOT)),
            "evidence.collect": _always(acts.EvidenceBundle(reference="none")),
            "notify.person": _nothing,
            "ledger.append": self._ledger.append,
            "records.load": _always(Loaded(status="none")),
            "actor.signal_with_start": self._actors.signal_with_start,
        }

    async def _recheck(self, act: acts.NodeAct) -> acts.Proof:
        await self._first(act.gpus[0])
        return acts.Proof(proven=True, boot_id=BOOT, sessions=dict.fromkeys(act.gpus, "1750000000"))

    async def _floor_first(self, letter: floor.Letter) -> None:
        self._moved = time.monotonic()
        await self._first(letter.chain)

    async def _first(self, chain: str) -> None:
        self.begun.setdefault(chain, time.monotonic())
        await self.gate.wait()

    async def _uncordon(self, act: acts.NodeAct) -> acts.CordonResult:
        self.handed_back.append(act.node)
        return acts.CordonResult(result="done")

    def _begin_and(self, name: str) -> Answer:
        """An irreversible act asks the guard, as the interlock does, and is done. Raises KeyError for other rows."""
        if ACTIONS[name].effect is not Effect.IRREVERSIBLE:
            raise KeyError(f"the benchmark has no answer for {name}")

        async def begin(act: acts.NodeAct) -> acts.ActResult:
            assert act.token is not None
            ask = Begin(
                node=act.node, plan=act.plan, attempt=act.attempt, token=act.token, boot_id=act.boot_id, act=name
            )
            guard = self._client.get_workflow_handle(str(act.guard))
            answer = await guard.execute_update("begin", ask, result_type=BeginAnswer)
            return acts.ActResult(result="done" if answer.verdict == "begun" else "refused", reason=answer.reason)

        return begin

    def _seen(self, answer: Answer) -> Answer:
        async def seen(request: Any) -> Any:
            self._moved = time.monotonic()
            try:
                return await answer(request)
            finally:
                self._moved = time.monotonic()

        return seen


def _activity(name: str, request: Any, answer: Answer) -> Callable[..., Any]:
    async def run(request: Any) -> Any:
        return await answer(request)

    run.__annotations__ = {"request": request, "return": Any}
    return activity.defn(name=name)(run)


def _always(result: Any) -> Answer:
    async def always(_request: Any) -> Any:
        return result

    return always


async def _nothing(_request: Any) -> acts.Nothing:
    return acts.Nothing()
