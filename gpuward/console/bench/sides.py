"""The two sides that are measured: how each is born, told of a fault, and followed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from gpuward.console.bench import floor
from gpuward.console.bench.fleet import Fleet, Place, fault, fault_of
from gpuward.console.bench.histories import History, history, went
from gpuward.console.bench.hops import Letters
from gpuward.contracts.actors import ACTORS, DECIDE_QUEUE, ActorInput
from gpuward.contracts.messages import DELIVER

AT_ONCE = 8


class Side(Protocol):
    """One of the two."""

    first: str
    """Name of its first activity."""
    repairs: bool
    """Whether a repair follows, that ends with the node's return."""

    async def born(self) -> None:
        """Starts every actor of the fleet by its first messages."""

    async def raise_fault(self, place: Place, number: int) -> None:
        """Tells the GPU at `place`, as the bridge does."""

    def mark(self, place: Place) -> str:
        """What the messages of this place's chain have in them."""

    async def histories(self, place: Place) -> Sequence[History]:
        """Of GPU, node, rack, guard, node, child."""


class Real:
    """The actors of `gpuward decide`."""

    first = "node.recheck"
    repairs = True

    def __init__(self, client: Client, fleet: Fleet) -> None:
        self._client = client
        self._fleet = fleet

    async def born(self) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._tell(entity, messages, gate) for entity, messages in self._fleet.births()))

    async def raise_fault(self, place: Place, number: int) -> None:
        await self._tell(place.actors[0], [fault(place, number)])

    def mark(self, place: Place) -> str:
        return fault_of(place)

    async def histories(self, place: Place) -> Sequence[History]:
        gpu, node, rack, pool = [await history(self._client, str(actor)) for actor in place.actors]
        started = [item["id"] for event in node for item in went(event) if item["kind"] == "child"]
        children = [await history(self._client, workflow_id) for workflow_id in started]
        mine = next((child for child in children if _is_about(child, place)), [])
        return gpu, node, rack, pool, node, mine

    async def _tell(self, entity: Any, messages: list[dict[str, Any]], gate: asyncio.Semaphore | None = None) -> None:
        actor = ACTORS[entity.kind]
        await _signal_with_start(
            self._client, actor.workflow, ActorInput(entity=entity), str(entity), DECIDE_QUEUE, messages, gate
        )


class Floor:
    """The same hops with nothing in them; `letters` are what a real chain sent."""

    first = floor.FIRST
    repairs = False

    def __init__(self, client: Client, fleet: Fleet, letters: Letters) -> None:
        self._client = client
        self._fleet = fleet
        self._letters = letters

    async def born(self) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        places = self._fleet.places()
        above = dict(pair for place in places for pair in _pairs(place))
        letters = {"sends": self._letters.sends, "appends": self._letters.appends}
        starts = {actor: floor.FloorInput(above=above[actor], **letters) for actor in above}
        await asyncio.gather(*(self._tell(actor, start, [], gate) for actor, start in starts.items()))

    async def raise_fault(self, place: Place, number: int) -> None:
        gpu, node = (floor.floor_id(str(actor)) for actor in place.actors[:2])
        load = fault(place, number)
        letter = floor.Letter(kind="fault", chain=place.uuid, node=node, load=load)
        await self._tell(gpu, floor.FloorInput(above=node), [letter.model_dump(mode="json")])

    def mark(self, place: Place) -> str:
        return place.uuid

    async def histories(self, place: Place) -> Sequence[History]:
        ids = [floor.floor_id(str(actor)) for actor in place.actors]
        gpu, node, rack, pool = [await history(self._client, workflow_id) for workflow_id in ids]
        return gpu, node, rack, pool, node, await history(self._client, floor.child_id(place.uuid))

    async def _tell(
        self, actor: str, start: floor.FloorInput, messages: list[dict[str, Any]], gate: asyncio.Semaphore | None = None
    ) -> None:
        await _signal_with_start(self._client, floor.ACTOR, start, actor, floor.QUEUE, messages, gate)


def _is_about(child: History, place: Place) -> bool:
    born = child[0].workflow_execution_started_event_attributes.input.payloads[0]
    return place.uuid.encode() in born.data


def _pairs(place: Place) -> list[tuple[str, str]]:
    ids = [floor.floor_id(str(actor)) for actor in place.actors]
    return list(zip(ids, [*ids[1:], ""], strict=True))


async def _signal_with_start(
    client: Client,
    workflow: str,
    start: Any,
    workflow_id: str,
    queue: str,
    messages: list[dict[str, Any]],
    gate: asyncio.Semaphore | None,
) -> None:
    async with gate or contextlib.nullcontext():
        await client.start_workflow(
            workflow,
            start,
            id=workflow_id,
            task_queue=queue,
            start_signal=DELIVER,
            start_signal_args=[messages],
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
