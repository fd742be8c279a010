"""The only caller of activities: by name, as their row in the table says."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType  # noqa: A004 - the SDK's

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actions import ACTIONS, Action, Effect
    from gpuward.contracts.acts import ActResult
    from gpuward.contracts.model import Contract

NEVER_AGAIN = ["Permanent", "Refused"]
"""Types of an activity's error that no retry can mend (`gpuward.contracts.errors`)."""


async def perform(name: str, request: Contract) -> Contract:
    """Runs the action and returns the row's result type.

    An irreversible action never raises: what became of it is `done`, `refused` or `unknown`. Any other raises
    `ActivityError` once its attempts are used up or its error is permanent. Raises KeyError for a name without a row.

    Law: an irreversible act has one attempt. A schedule-to-start timeout is `refused`, since nothing was begun; any other
    timeout, a lost worker or an error that is not `Refused` is `unknown`.
    """
    action = ACTIONS[name]
    try:
        answer: Contract = await workflow.execute_activity(
            action.name,
            request,
            result_type=action.result,
            task_queue=action.queue,
            start_to_close_timeout=timedelta(seconds=action.start_to_close_s),
            schedule_to_start_timeout=_seconds(action.schedule_to_start_s),
            heartbeat_timeout=_seconds(action.heartbeat_s),
            retry_policy=_retries(action),
            cancellation_type=_cancellation(action),
            priority=Priority(priority_key=action.priority),
        )
    except ActivityError as error:
        if action.effect is not Effect.IRREVERSIBLE:
            raise
        return what_became_of(name, error)
    return answer


def what_became_of(name: str, error: ActivityError) -> ActResult:
    """What an irreversible action that ended in an error may have done."""
    cause = error.cause
    if isinstance(cause, TimeoutError) and cause.type is TimeoutType.SCHEDULE_TO_START:
        return ActResult(result="refused", reason=f"not started: no worker took {name} in time")
    if isinstance(cause, ApplicationError) and cause.type == "Refused":
        return ActResult(result="refused", reason=cause.message)
    return ActResult(result="unknown", reason=f"{name}: {cause or error}")


def why(error: BaseException) -> str:
    """The innermost message of a failed activity, for people."""
    cause = error.cause if isinstance(error, ActivityError) else None
    return str(cause or error) or type(error).__name__


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _retries(action: Action) -> RetryPolicy:
    attempts = 1 if action.effect is Effect.IRREVERSIBLE else action.attempts
    return RetryPolicy(
        initial_interval=timedelta(seconds=1),
        maximum_interval=timedelta(seconds=60),
        maximum_attempts=attempts,
        non_retryable_error_types=NEVER_AGAIN,
    )


def _cancellation(action: Action) -> workflow.ActivityCancellationType:
    """An irreversible act that is cancelled is waited for: only its own end says what it did."""
    if action.effect is Effect.IRREVERSIBLE:
        return workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
    return workflow.ActivityCancellationType.TRY_CANCEL
