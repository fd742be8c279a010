"""What an irreversible action that ended in an error may have done."""

from __future__ import annotations

import pytest
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, RetryState, TimeoutError, TimeoutType  # noqa: A004

from gpuward.contracts.actions import ACTIONS, Effect
from workflows.perform import _retries, what_became_of


def _error(cause: BaseException) -> ActivityError:
    error = ActivityError(
        "activity error", scheduled_event_id=1, started_event_id=2, identity="w", activity_type="node.reboot", activity_id="1",
        retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
    )  # fmt: skip
    error.__cause__ = cause
    return error


def _timeout(kind: TimeoutType) -> TimeoutError:
    return TimeoutError("timed out", type=kind, last_heartbeat_details=())


@pytest.mark.parametrize(
    ("cause", "result"),
    [
        (_timeout(TimeoutType.SCHEDULE_TO_START), "refused"),
        (_timeout(TimeoutType.START_TO_CLOSE), "unknown"),
        (_timeout(TimeoutType.HEARTBEAT), "unknown"),
        (_timeout(TimeoutType.SCHEDULE_TO_CLOSE), "unknown"),
        (ApplicationError("stop: by alice", type="Refused"), "refused"),
        (ApplicationError("connection lost"), "unknown"),
        (CancelledError(), "unknown"),
    ],
)
def test_only_what_was_certainly_not_sent_is_refused(cause, result):
    became = what_became_of("node.reboot", _error(cause))
    assert became.result == result
    assert became.reason


def test_a_refusal_keeps_its_reason_from_the_first_word():
    assert what_became_of("x", _error(ApplicationError("stop: by alice", type="Refused"))).reason == "stop: by alice"


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda a: a.name)
def test_an_irreversible_action_has_one_attempt(action):
    attempts = _retries(action).maximum_attempts
    assert attempts == (1 if action.effect is Effect.IRREVERSIBLE else action.attempts)
