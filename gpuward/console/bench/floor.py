"""The floor: the chain's hops with nothing in them. Same messages, one append for each hop, no decision, no state.

    fault → GPU → claim → node → plan → rack → ask → pool guard → granted → node → child → first activity

All that a hop does leaves in the workflow task that took the message in, and nothing is waited for.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue, WorkflowIDReusePolicy

with workflow.unsafe.imports_passed_through():
    import pydantic_core
    from pydantic import Field

    from gpuward.contracts.model import Contract

QUEUE = "bench-floor"
ACT_QUEUE = "bench-floor-act"
LEDGER_QUEUE = "bench-floor-ledger"
ACTOR, CHILD = "FloorActor", "FloorChild"
FIRST, APPEND = "floor.first", "floor.append"

NEXT = {"fault": "claim", "claim": "plan", "plan": "ask", "ask": "granted", "granted": "child", "child": "first"}
"""What is taken in → what it makes the hop send on."""


class FloorInput(Contract):
    """Start of a floor actor: who is above it, and what a real one sends (by kind) and appends (by kind taken in)."""

    above: str
    sends: dict[str, dict[str, Any]] = Field(default_factory=dict)
    appends: dict[str, dict[str, Any]] = Field(default_factory=dict)


class Letter(Contract):
    """One message: `load` is a real one of its kind, byte for byte what a real actor was sent."""

    kind: str
    chain: str
    node: str
    load: dict[str, Any] = Field(default_factory=dict)
    first: dict[str, Any] = Field(default_factory=dict)
    """Of a child only: the request of its first activity."""


def floor_id(entity: str) -> str:
    """Workflow id of the floor's twin of a real actor."""
    return f"floor/{entity}"


def child_id(chain: str) -> str:
    """Workflow id of the floor's child."""
    return f"floor/child/{chain}"


@workflow.defn(name=ACTOR)
class FloorActor:
    """One hop."""

    @workflow.init
    def __init__(self, start: FloorInput) -> None:
        self._start = start
        self._inbox: list[RawValue] = []
        self._open: set[asyncio.Task[Any]] = set()

    @workflow.signal(name="deliver")
    def deliver(self, items: RawValue) -> None:
        """Kept raw, as a real actor does."""
        self._inbox.append(items)

    @workflow.run
    async def run(self, _start: FloorInput) -> None:
        """Never ends."""
        while True:
            await workflow.wait_condition(lambda: bool(self._inbox))
            taken, self._inbox = self._inbox, []
            for items in taken:
                for item in pydantic_core.from_json(items.payload.data):
                    self._pass_on(item)

    def _pass_on(self, item: dict[str, Any]) -> None:
        kind = NEXT.get(item["kind"])
        if kind is None:
            return
        load = self._start.sends.get(kind, {})
        letter = Letter(kind=kind, chain=item["chain"], node=item["node"], load=load)
        if kind == "child":
            self._begin(_child(letter.model_copy(update={"first": self._start.sends.get("first", {})})))
        else:
            to = item["node"] if kind == "granted" else self._start.above
            self._begin(_signal(to, [letter.model_dump(mode="json")]))
        self._begin(_append(self._start.appends.get(item["kind"], {"outcomes": []})))

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._open.add(task)
        task.add_done_callback(self._open.discard)


@workflow.defn(name=CHILD)
class FloorChild:
    """The remediation with its first activity alone."""

    @workflow.run
    async def run(self, start: Letter) -> None:
        await workflow.execute_activity(
            FIRST,
            Letter(kind="first", chain=start.chain, node=start.node, load=start.first),
            task_queue=ACT_QUEUE,
            start_to_close_timeout=timedelta(seconds=120),
        )


async def _signal(to: str, items: list[dict[str, Any]]) -> None:
    await workflow.get_external_workflow_handle(to).signal("deliver", items)


async def _child(letter: Letter) -> None:
    child = await workflow.start_child_workflow(
        CHILD,
        letter,
        id=child_id(letter.chain),
        task_queue=QUEUE,
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
    )
    await child


async def _append(outcomes: dict[str, Any]) -> None:
    await workflow.execute_activity(
        APPEND, outcomes, task_queue=LEDGER_QUEUE, start_to_close_timeout=timedelta(seconds=10)
    )
