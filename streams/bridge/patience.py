"""What is wrong with the world is waited out, with jitter; what is wrong with the request is raised."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.service import RPCError, RPCStatusCode

from gpuward.contracts.errors import Transient
from gpuward.runtime import logging
from gpuward.runtime.kafka import KafkaError

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
REQUEST_IS_WRONG = frozenset({RPCStatusCode.INVALID_ARGUMENT})
_SAY_EVERY = 10

R = TypeVar("R")


def _nothing() -> None:
    pass


async def patiently(
    call: Callable[[], Awaitable[R]],
    *,
    what: str,
    waiting: Callable[[], None] = _nothing,
    final: frozenset[RPCStatusCode] = REQUEST_IS_WRONG,
) -> R:
    """The answer of `call`, asked again for as long as it takes; ends early only by being cancelled.

    Raises the RPCError whose status is in `final`. A server that is busy, away, or does not let us in is the world's
    trouble, not the event's: nothing is given up on its account. `waiting` is called before each pause.
    """
    pause, tries = FIRST_PAUSE_S, 0
    while True:
        try:
            return await call()
        except RPCError as error:
            if error.status in final:
                raise
            trouble: Exception = error
        except (Transient, KafkaError) as error:
            trouble = error
        if tries % _SAY_EVERY == 0:
            logging.get("bridge").warning("waiting it out", what=what, trouble=str(trouble), tries=tries + 1)
        tries += 1
        waiting()
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, not a secret
        pause = min(pause * 2, LONGEST_PAUSE_S)
