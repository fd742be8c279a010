"""Counts what actors cost, from their histories: workflow tasks, and those that only took a ledger acknowledgement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

LEDGER = ("ledger.append",)
_TASK_DONE = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
_QUIET = {
    EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
}


@dataclass(frozen=True)
class Transitions:
    """Of one workflow id, over all its runs. `tasks` leaves out those that only took a ledger acknowledgement."""

    workflow_id: str
    tasks: int
    ledger_tasks: int
    events: int
    billable: int


async def of(client: Client, workflow_id: str) -> Transitions:
    """Counts one workflow id: the newest chain of runs that the server still has."""
    runs = [run async for run in _runs(client, workflow_id)]
    counts = [count(workflow_id, run) for run in runs]
    return Transitions(
        workflow_id,
        sum(each.tasks for each in counts),
        sum(each.ledger_tasks for each in counts),
        sum(each.events for each in counts),
        sum(each.billable for each in counts),
    )


async def total(client: Client, workflow_ids: Iterable[str]) -> int:
    """Workflow tasks over several workflows, without ledger acknowledgements."""
    return sum([(await of(client, workflow_id)).tasks for workflow_id in workflow_ids])


def count(workflow_id: str, events: list[HistoryEvent], *, after: int = 0) -> Transitions:
    """Counts one history, from the event id `after` on."""
    tasks = ledger_tasks = billable = 0
    since: list[HistoryEvent] = []
    ledger = {
        event.event_id
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        and event.activity_task_scheduled_event_attributes.activity_type.name in LEDGER
    }
    for event in events:
        if event.event_id > after:
            billable += _billable(event)
        if event.event_type == _TASK_DONE:
            causes = [cause for cause in since if cause.event_type not in _QUIET]
            only_ledger = bool(causes) and all(_acknowledges(cause, ledger) for cause in causes)
            if event.event_id > after:
                tasks += not only_ledger
                ledger_tasks += only_ledger
            since = []
        elif not _is_command(event):
            since.append(event)
    return Transitions(
        workflow_id, tasks, ledger_tasks, len([event for event in events if event.event_id > after]), billable
    )


def _acknowledges(event: HistoryEvent, ledger: set[int]) -> bool:
    ended = (
        event.activity_task_completed_event_attributes
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
        else event.activity_task_failed_event_attributes
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED
        else event.activity_task_timed_out_event_attributes
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT
        else None
    )
    return ended is not None and ended.scheduled_event_id in ledger


def _is_command(event: HistoryEvent) -> bool:
    """Written by a workflow task itself, so no cause of the next one."""
    return event.event_type in {
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        EventType.EVENT_TYPE_TIMER_STARTED,
        EventType.EVENT_TYPE_TIMER_CANCELED,
        EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
        EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
    }


def _billable(event: HistoryEvent) -> int:
    """Actions by Temporal Cloud's list: a start, signal, timer, update or activity is one, a child start two."""
    two = {EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED}
    one = {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_TIMER_STARTED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
    }
    return 2 if event.event_type in two else int(event.event_type in one)


async def _runs(client: Client, workflow_id: str) -> AsyncIterator[list[HistoryEvent]]:
    run_id: str | None = None
    while True:
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        yield list(history.events)
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id or None
        if run_id is None:
            return
