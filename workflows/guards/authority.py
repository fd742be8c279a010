"""The two things that a pool guard can be: the authority over one pool, or over all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Protocol

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput
    from gpuward.contracts.identity import FLEET
    from gpuward.contracts.updates import Begin, BeginAnswer, PersonAnswer, Resume, Stop, StopAnswer, WriteOff
    from workflows.actors.brain import Brain
    from workflows.actors.shell import Shell
    from workflows.decide import fleet, pool

POOL = Brain(pool.State, pool.born, pool.decide, pool.next_wake, pool.summary, pool.lifecycle)
FLEET_BRAIN = Brain(fleet.State, fleet.born, fleet.decide, fleet.next_wake, fleet.summary, fleet.lifecycle)

ACKNOWLEDGE = timedelta(minutes=10)
"""How long `stop` of `pool/fleet` waits for every pool. It fails then; the stop itself stays and goes on being pushed."""


class Authority(Protocol):
    """What the updates of a pool guard call."""

    shell: Shell[Any]

    def begin(self, request: Begin) -> BeginAnswer: ...
    async def stop(self, request: Stop) -> StopAnswer: ...
    def resume(self, request: Resume) -> StopAnswer: ...
    def write_off(self, request: WriteOff) -> PersonAnswer: ...

    def need_slots(self, what: str) -> None:
        """Raises ValueError where slots are not kept here."""


class OverOne:
    """One pool. Every answer is given within one workflow task."""

    def __init__(self, start: ActorInput) -> None:
        self.shell: Shell[Any] = Shell(POOL, start)

    def begin(self, request: Begin) -> BeginAnswer:
        state, answer, decisions = pool.begin(self.shell.state, request, workflow.now())
        self.shell.decided(state, decisions)
        return answer

    async def stop(self, request: Stop) -> StopAnswer:
        state, answer, decisions = pool.stop(self.shell.state, request, workflow.now())
        self.shell.decided(state, decisions)
        return answer

    def resume(self, request: Resume) -> StopAnswer:
        state, answer, decisions = pool.resume(self.shell.state, request, workflow.now())
        self.shell.decided(state, decisions)
        return answer

    def write_off(self, request: WriteOff) -> PersonAnswer:
        state, answer, decisions = pool.write_off(self.shell.state, request, workflow.now())
        self.shell.decided(state, decisions)
        return answer

    def need_slots(self, what: str) -> None:
        """Slots are kept here: never raises."""


class OverAll:
    """Every pool: a stop is pushed to each guard and acknowledged when each has answered."""

    def __init__(self, start: ActorInput) -> None:
        self.shell: Shell[Any] = Shell(FLEET_BRAIN, start)

    def begin(self, request: Begin) -> BeginAnswer:
        return BeginAnswer(verdict="refused", reason=f"no pool: {FLEET} keeps no slots, for {request.node} neither")

    async def stop(self, request: Stop) -> StopAnswer:
        """Raises ApplicationError when not every pool has acknowledged in time: nobody is told that all have stopped."""
        self.shell.waiters += 1
        try:
            self.shell.decided(*fleet.stop(self.shell.state, request, workflow.now()))
            await workflow.wait_condition(lambda: fleet.acknowledged(self.shell.state) is not None, timeout=ACKNOWLEDGE)
        except TimeoutError as error:
            text = f"not every pool has acknowledged the stop: {FLEET_BRAIN.summary(self.shell.state)}"
            raise ApplicationError(text, type="Unacknowledged") from error
        finally:
            self.shell.waiters -= 1
        answer = fleet.acknowledged(self.shell.state)
        assert answer is not None
        return answer

    def resume(self, request: Resume) -> StopAnswer:
        self.shell.decided(*fleet.resume(self.shell.state, request, workflow.now()))
        return StopAnswer(stopped=False)

    def write_off(self, request: WriteOff) -> PersonAnswer:
        return PersonAnswer(accepted=False, text=f"{FLEET} keeps no slots, {request.node}'s neither")

    def need_slots(self, what: str) -> None:
        raise ValueError(f"{FLEET} keeps no slots: {what} belongs to the node's own pool")
