"""Doubles of every activity of the table, scripted, and a kit that runs them beside real workers."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError
from temporalio.worker import Replayer, Worker

import workflows
from gpuward.contracts import acts
from gpuward.contracts.actions import ACT_QUEUE, ACTIONS, LEDGER_QUEUE
from gpuward.contracts.actors import ACTORS, DECIDE_QUEUE, ActorInput, ActorView
from gpuward.contracts.entities import Loaded
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Outcome
from tests.component.workflows.echo import EchoActor
from workflows.remediations.remediation import Remediation

DEFAULTS: dict[str, Any] = {
    "node.recheck": acts.Proof(proven=True, boot_id="b1", sessions={"g": "s1"}),
    "node.cordon": acts.CordonResult(result="done"),
    "node.uncordon": acts.CordonResult(result="done"),
    "node.evict": acts.ActResult(result="done"),
    "evidence.collect": acts.EvidenceBundle(reference="x"),
    "gpu.reset": acts.ActResult(result="done"),
    "node.reboot": acts.ActResult(result="done"),
    "node.power_cycle": acts.ActResult(result="done"),
    "node.await_session": acts.SessionSeen(seen=True, boot_id="b2"),
    "node.validate": acts.Validation(passed=True),
    "notify.person": acts.Nothing(),
    "ledger.append": acts.Nothing(),
    "records.load": Loaded(status="none"),
}


class Peers:
    """`script[action]` holds what the next calls answer: a result, an exception to raise, or a (possibly async) function of
    the request. Then the default answers."""

    def __init__(self, client: Client, *, echo: bool) -> None:
        self._echo = echo
        self._client = client
        self.forget()

    def forget(self) -> None:
        """Back to the defaults, with nothing called."""
        self.calls: list[tuple[str, Any]] = []
        self.acknowledged: list[acts.Append] = []
        self.script: dict[str, list[Any]] = defaultdict(list)
        self.always: dict[str, Any] = {**DEFAULTS, "actor.signal_with_start": self._signal_with_start}

    def called(self, action: str | None = None) -> list[Any]:
        """Requests of one action, or the names of all actions but the ledger's in order."""
        if action is None:
            return [name for name, _ in self.calls if name not in ("ledger.append", "records.load")]
        return [request for name, request in self.calls if name == action]

    @property
    def ledger(self) -> list[Outcome]:
        """What was acknowledged, each id once, in order of first appearance."""
        found: dict[str, Outcome] = {}
        for request in self.acknowledged:
            for outcome in request.outcomes:
                found.setdefault(outcome.id, outcome)
        return list(found.values())

    def activities(self) -> dict[str, list[Callable[..., Any]]]:
        """Queue → activity functions."""
        by_queue: dict[str, list[Callable[..., Any]]] = defaultdict(list)
        for action in ACTIONS.values():
            by_queue[action.queue].append(self._double(action.name, action.request))
        return by_queue

    def _double(self, name: str, request_type: type) -> Callable[..., Any]:
        async def double(request: Any) -> Any:
            self.calls.append((name, request))
            answer = self.script[name].pop(0) if self.script[name] else self.always[name]
            if callable(answer):
                answer = answer(request)
            if asyncio.iscoroutine(answer):
                answer = await answer
            if isinstance(answer, BaseException):
                raise answer
            if name == "ledger.append":
                self.acknowledged.append(request)
            return answer

        double.__annotations__ = {"request": request_type, "return": Any}
        return activity.defn(name=name)(double)

    async def _signal_with_start(self, request: acts.SignalRequest) -> acts.Nothing:
        await start(self._client, request.entity, *request.messages, echo=self._echo)
        return acts.Nothing()


async def start(client: Client, entity: str, *messages: Any, echo: bool = True) -> WorkflowHandle[Any, Any]:
    """Signals an actor, started where it is not there: what the bridge does."""
    return await client.start_workflow(
        "EchoActor" if echo else ACTORS[Entity(entity).kind].workflow,
        ActorInput(entity=Entity(entity)),
        id=entity,
        task_queue=DECIDE_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        start_signal="deliver",
        start_signal_args=[list(messages)],
    )


class Kit:
    """A client, the doubles, and workers that can be killed and started again."""

    def __init__(self, client: Client, *, echo: bool = True) -> None:
        """`echo`: actors are echoes; else they are the real ones."""
        self.client = client
        self.echo = echo
        self.workflows: tuple[type, ...] = (EchoActor, Remediation) if echo else workflows.ALL_WORKFLOWS
        self.peers = Peers(client, echo=echo)
        self._running = False

    @asynccontextmanager
    async def workers(
        self, *, decide: bool = True, cache: int = 1000, queues: tuple[str, ...] = (ACT_QUEUE, LEDGER_QUEUE)
    ):
        """`cache=0`: every workflow task replays the whole history, as if the worker had been killed before each. Where they
        run already (a kit shared by a module) this starts none.
        """
        if self._running:
            yield self
            return
        async with AsyncExitStack() as stack:
            self._running = True
            stack.callback(setattr, self, "_running", False)
            activities = self.peers.activities()
            for queue in queues:
                await stack.enter_async_context(Worker(self.client, task_queue=queue, activities=activities[queue]))
            if decide:
                await stack.enter_async_context(
                    Worker(
                        self.client, task_queue=DECIDE_QUEUE, workflows=list(self.workflows), max_cached_workflows=cache
                    )
                )
            yield self

    async def tell(self, entity: str, *messages: Any) -> WorkflowHandle[Any, Any]:
        return await start(self.client, entity, *messages, echo=self.echo)

    async def view(self, entity: str) -> ActorView:
        return await self.client.get_workflow_handle(entity).query("view", result_type=ActorView)

    async def seen(self, entity: str) -> list[str]:
        """What the echo has seen, in order; nothing where there is none yet."""
        try:
            return (await self.view(entity)).state["seen"]
        except RPCError:
            return []

    async def until_seen(self, entity: str, *wanted: str, within: float = 20) -> list[str]:
        """Until the echo has seen all of them."""

        async def there() -> list[str] | None:
            seen = await self.seen(entity)
            return seen if all(any(s.startswith(w) for s in seen) for w in wanted) else None

        return await eventually(there, within)

    async def replay(self, workflow_id: str) -> None:
        """Raises where the code and the recorded history part."""
        history = await self.client.get_workflow_handle(workflow_id).fetch_history()
        replayer = Replayer(workflows=list(self.workflows), data_converter=self.client.data_converter)
        await replayer.replay_workflow(history)


async def eventually(look: Callable[[], Any], within: float = 20) -> Any:
    """The first answer that is not false. Raises AssertionError when the time is over."""
    deadline = time.monotonic() + within
    while True:
        answer = look()
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{look} stayed {answer!r} for {within} s")
        await asyncio.sleep(0.03)
