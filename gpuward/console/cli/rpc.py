"""Questions to Temporal whose failures become sentences."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from temporalio.client import WorkflowQueryFailedError, WorkflowQueryRejectedError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from gpuward.console.cli.exits import NoSuch, Unreachable
from gpuward.contracts.errors import Permanent

T = TypeVar("T")


async def asked(question: Awaitable[T], whom: str) -> T:
    """The answer. Raises NoSuch when the actor does not run, Permanent when it refuses, Unreachable when nobody answers."""
    try:
        return await question
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise NoSuch(f"{whom} has no actor: it is started by its first inventory or policy record.") from error
        what = (
            "did not answer in time: is `decide` running?"
            if error.status in _LATE
            else f"did not answer: {error.message}"
        )
        raise Unreachable(f"{whom} {what} See `gpuward doctor`.") from error
    except WorkflowUpdateFailedError as error:
        cause = error.cause
        raise Permanent(f"{whom} refused: {cause.message if isinstance(cause, ApplicationError) else cause}") from error
    except (WorkflowQueryFailedError, WorkflowQueryRejectedError) as error:
        raise Permanent(f"{whom} could not answer: {error}") from error
    except TimeoutError as error:
        raise Unreachable(f"{whom} did not answer in time: is `decide` running? See `gpuward doctor`.") from error


_LATE = frozenset({RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED})
