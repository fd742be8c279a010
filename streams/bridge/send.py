"""Signal-with-start: one signal with a list of messages to one actor, and what the server's answers mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError

from gpuward.contracts.actors import ActorInput
from gpuward.contracts.identity import Entity
from streams.bridge.backlog import Backlog
from streams.bridge.patience import patiently
from streams.bridge.route import actor_of

_RPC = timedelta(seconds=10)
_SIGNAL_LIMIT = "limit for signal events"
"""In the server's INVALID_ARGUMENT when a run has taken 10,000 signals; the SDK does not retry it."""
_TOO_LARGE = "larger than max"
"""In gRPC's RESOURCE_EXHAUSTED for a request of more than 4 MB: that does not pass by waiting."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The server keeps the signal."""


@dataclass(frozen=True, slots=True)
class Full:
    """The actor cannot take it in now; `because` says why."""

    because: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """The server will never take this signal; `because` says why."""

    because: str


Answer = Taken | Full | Unfit


class Courier:
    """Brings messages to actors, starting those that do not run. Order is the caller's: one send per entity at a time."""

    def __init__(self, client: Client, backlog: Backlog) -> None:
        self._client = client
        self.backlog = backlog

    async def deliver(
        self, target: Entity, messages: list[dict[str, Any]], *, waiting: Callable[[], None] = lambda: None
    ) -> Answer:
        """Waits out a server that is away or busy, for as long as it takes; `waiting` is called when it has to."""
        refusal = await self.backlog.refuses(target)
        if refusal is not None:
            return Full(refusal)
        try:
            return await patiently(lambda: self._signal(target, messages), what=f"signal {target}", waiting=waiting)
        except RPCError as error:
            # Law: only what is wrong with the request itself comes here.
            return Full(error.message) if _SIGNAL_LIMIT in error.message else Unfit(error.message)

    async def _signal(self, target: Entity, messages: list[dict[str, Any]]) -> Taken | Unfit:
        try:
            await self._start(target, messages)
        except RPCError as error:
            if _TOO_LARGE not in error.message:
                raise
            return Unfit(error.message)
        return Taken()

    async def _start(self, target: Entity, messages: list[dict[str, Any]]) -> None:
        actor = actor_of(target)
        await self._client.start_workflow(
            actor.workflow,
            ActorInput(entity=target),
            id=actor.workflow_id(target),
            task_queue=actor.task_queue,
            start_signal=actor.signal,
            start_signal_args=[messages],
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            rpc_timeout=_RPC,
        )
