"""`actor.signal_with_start`: a message goes to its actor even where that does not exist yet."""

from __future__ import annotations

from datetime import timedelta

from temporalio import activity
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError

from gpuward.contracts.actors import ACTORS, ActorInput
from gpuward.contracts.acts import Nothing, SignalRequest

_WITHIN = timedelta(seconds=8)


class Actors:
    """Telling twice is harmless: messages are levels or have ids."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name="actor.signal_with_start")
    async def signal_with_start(self, ask: SignalRequest) -> Nothing:
        """Raises a non-retryable `Permanent` for an entity that has no actor; what the server raises is retried."""
        actor = ACTORS.get(ask.entity.kind)
        if actor is None:
            raise ApplicationError(
                f"{ask.entity} has no actor that could be told", type="Permanent", non_retryable=True
            )
        await self._client.start_workflow(
            actor.workflow,
            ActorInput(entity=ask.entity),
            id=actor.workflow_id(ask.entity),
            task_queue=actor.task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=actor.signal,
            start_signal_args=[[message.model_dump(mode="json") for message in ask.messages]],
            rpc_timeout=_WITHIN,
        )
        return Nothing()
