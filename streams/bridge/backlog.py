"""How much one actor has not yet taken in. A run is bounded long before the server would end it.

The server refuses more than 10,000 signals a run and *terminates* an actor far beyond 50 MB of history; an empty one then
takes its name. Source: `temporal-rules.md`, limits and backlog.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from gpuward.contracts.identity import Entity
from streams.bridge.patience import REQUEST_IS_WRONG, patiently

ASK_EVERY = 100
"""Signals to one actor between two descriptions of it; fewer where the limit is low."""
_RPC = timedelta(seconds=10)
_FINAL = REQUEST_IS_WRONG | {RPCStatusCode.NOT_FOUND}


class Backlog:
    """Counts what was sent to each actor, and asks the server now and then how it bears it."""

    def __init__(self, client: Client, *, signal_limit: int, bytes_limit: int) -> None:
        self._client = client
        self._signals = signal_limit
        self._bytes = bytes_limit
        self._every = min(ASK_EVERY, max(1, signal_limit // 20))
        self._sent: Counter[Entity] = Counter()

    async def refuses(self, target: Entity) -> str | None:
        """Why one more signal should not be sent now, or None. Asks the server at each hundredth signal only."""
        self._sent[target] += 1
        if self._sent[target] < self._every:
            return None
        del self._sent[target]
        return await self.measure(target)

    async def measure(self, target: Entity, share: float = 1.0) -> str | None:
        """Why the actor's run is over `share` of a limit, or None. An actor that does not run has no backlog."""
        try:
            return await patiently(lambda: self._measure(target, share), what=f"describe {target}", final=_FINAL)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def _measure(self, target: Entity, share: float) -> str | None:
        handle = self._client.get_workflow_handle(str(target))
        description = await handle.describe(rpc_timeout=_RPC)
        if description.status is not WorkflowExecutionStatus.RUNNING:
            return None
        info = description.raw_description.workflow_execution_info
        if info.history_size_bytes >= self._bytes:
            return f"its run holds {info.history_size_bytes} bytes of history, the limit is {self._bytes}"
        limit = max(1, int(self._signals * share))
        if info.history_length < limit:
            return None  # there cannot be more signals than events
        unhandled = await self._unhandled(str(target), description.run_id, limit)
        return f"{unhandled} signals or more are unhandled, the limit is {limit}" if unhandled >= limit else None

    async def _unhandled(self, workflow_id: str, run_id: str, limit: int) -> int:
        """Signals since the last completed workflow task, counted up to `limit`."""
        count, token = 0, b""
        while True:
            page = await self._client.workflow_service.get_workflow_execution_history_reverse(
                GetWorkflowExecutionHistoryReverseRequest(
                    namespace=self._client.namespace,
                    execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
                    maximum_page_size=250,
                    next_page_token=token,
                ),
                retry=True,
                timeout=_RPC,
            )
            for event in page.history.events:
                if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
                    return count
                count += event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
                if count >= limit:
                    return count
            token = page.next_page_token
            if not token:
                return count
