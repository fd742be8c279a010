"""`gpuward stop|resume POOL`: straight to the pool guard by update, so that Kafka may be away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import person, temporal_of
from gpuward.contracts.identity import FLEET, Entity
from gpuward.contracts.updates import Resume, Stop, StopAnswer

if TYPE_CHECKING:
    from temporalio.client import Client

Reason = Annotated[str, Parameter(help="Why, for the ledger.")]


@answered
async def stop(pool: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Stop a pool, or `fleet` for all: once this has answered, no irreversible act begins."""
    entity, answer = await _tell("stop", pool, Stop(person=person(), reason=reason), options)
    begun = f" These had begun already: {', '.join(answer.begun)}." if answer.begun else " Nothing had begun."
    text = f"{entity} is stopped: no irreversible act begins any more.{begun} `gpuward resume {pool}` lifts it."
    return Answer(_document("stop", entity, answer), text)


@answered
async def resume(pool: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Lift the stop of a pool, or of `fleet`."""
    entity, answer = await _tell("resume", pool, Resume(person=person(), reason=reason), options)
    text = f"{entity} goes on."
    if answer.stopped:
        text = f"{entity} is no longer stopped by itself, and still by the fleet: `gpuward resume fleet` lifts that."
    return Answer(_document("resume", entity, answer), text)


def _document(order: str, entity: Entity, answer: StopAnswer) -> Mapping[str, Any]:
    return {
        "schema": "gpuward.stop/1",
        "order": order,
        "pool": str(entity),
        "stopped": answer.stopped,
        "begun": list(answer.begun),
        "pools": list(answer.pools),
    }


async def _tell(update: str, pool: str, request: Stop | Resume, options: Options) -> tuple[Entity, StopAnswer]:
    from gpuward.console.cli.rpc import asked

    entity = Entity.pool(pool.removeprefix("pool/"))
    client = await temporal_of(options.settings())
    if entity == FLEET:
        return entity, await asked(_fleet(client, update, request), entity)
    handle = client.get_workflow_handle(str(entity))
    return entity, await asked(handle.execute_update(update, request, result_type=StopAnswer), entity)


async def _fleet(client: Client, update: str, request: Stop | Resume) -> StopAnswer:
    """The guard over all pools is started by the first stop where no pool has registered with it yet."""
    from temporalio.client import WithStartWorkflowOperation
    from temporalio.common import WorkflowIDConflictPolicy

    from gpuward.contracts.actors import ACTORS, ActorInput

    row = ACTORS[FLEET.kind]
    start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        row.workflow,
        ActorInput(entity=FLEET),
        id=row.workflow_id(FLEET),
        task_queue=row.task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )
    answer: StopAnswer = await client.execute_update_with_start_workflow(
        update, request, start_workflow_operation=start, result_type=StopAnswer
    )
    return answer
