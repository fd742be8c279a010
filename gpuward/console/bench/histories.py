"""What histories say: messages that came and went, and workflow tasks. Counted, so the same on any machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pydantic_core
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from gpuward.console.bench import floor

History = Sequence[HistoryEvent]
APPENDS = ("ledger.append", floor.APPEND)
TASK_DONE = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_QUIET = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
        # Written by a workflow task itself, so no cause of the next.
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        EventType.EVENT_TYPE_TIMER_STARTED,
        EventType.EVENT_TYPE_TIMER_CANCELED,
        EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
        EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
    }
)


class Tasks(NamedTuple):
    """Workflow tasks of one history. `ledger`: those that only took a ledger acknowledgement, which `other` leaves out."""

    other: int
    ledger: int


async def history(client: Client, workflow_id: str) -> list[HistoryEvent]:
    """Every run that the server still has, oldest first, as one list."""
    run_id: str | None = None
    whole: list[HistoryEvent] = []
    while True:
        events = (await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()).events
        whole[:0] = events
        run_id = events[0].workflow_execution_started_event_attributes.continued_execution_run_id or None
        if run_id is None:
            return whole


def count(events: History, since: int, until: int | None = None) -> Tasks:
    """Workflow tasks completed between these times (nanoseconds since 1970)."""
    ledger = {event.event_id for event in events if _scheduled(event) in APPENDS and _at(event) >= since}
    done = [0, 0]
    causes: list[HistoryEvent] = []
    for event in events:
        if until is not None and _at(event) > until:
            break
        if event.event_type == TASK_DONE:
            only_ledger = bool(causes) and all(_acknowledges(cause, ledger) for cause in causes)
            done[only_ledger] += _at(event) >= since
            causes = []
        elif event.event_type not in _QUIET:
            causes.append(event)
    return Tasks(*done)


def _at(event: HistoryEvent) -> int:
    return event.event_time.ToNanoseconds()


def came(event: HistoryEvent) -> list[dict[str, Any]]:
    """Messages of a signal that was taken in; nothing for other events."""
    return _items(event.workflow_execution_signaled_event_attributes.input)


def went(event: HistoryEvent) -> list[dict[str, Any]]:
    """Messages of a signal that was sent, or the input of a child that was started; nothing for other events."""
    sent = event.signal_external_workflow_execution_initiated_event_attributes.input
    child = event.start_child_workflow_execution_initiated_event_attributes
    return _items(sent) or [{"kind": "child", "id": child.workflow_id} for _ in child.input.payloads[:1]]


def scheduled(event: HistoryEvent) -> tuple[str, dict[str, Any]] | None:
    """Name and request of an activity that was scheduled."""
    name = _scheduled(event)
    requests = _items(event.activity_task_scheduled_event_attributes.input)
    return (name, requests[0]) if name and requests else None


def _scheduled(event: HistoryEvent) -> str:
    return event.activity_task_scheduled_event_attributes.activity_type.name


def _items(payloads: Payloads) -> list[dict[str, Any]]:
    return [item for payload in payloads.payloads for item in _flat(pydantic_core.from_json(payload.data))]


def _flat(value: Any) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _acknowledges(event: HistoryEvent, ledger: set[int]) -> bool:
    match event.event_type:
        case EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            return event.activity_task_completed_event_attributes.scheduled_event_id in ledger
        case EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED:
            return event.activity_task_failed_event_attributes.scheduled_event_id in ledger
        case EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
            return event.activity_task_timed_out_event_attributes.scheduled_event_id in ledger
        case _:
            return False
