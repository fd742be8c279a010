"""The pool guard: the one authority over a pool's budget. Under the name `pool/fleet` it guards all pools."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput
    from gpuward.contracts.identity import FLEET
    from gpuward.contracts.updates import Begin, BeginAnswer, PersonAnswer, Resume, Stop, StopAnswer, WriteOff
    from workflows.actors.doors import Doors, need_person
    from workflows.guards.authority import Authority, OverAll, OverOne


@workflow.defn(name="PoolGuard")
class PoolGuard(Doors):
    """A shell around `workflows.decide.pool`, or `workflows.decide.fleet` where the entity is `pool/fleet`."""

    @workflow.init
    def __init__(self, start: ActorInput) -> None:
        self._authority: Authority = OverAll(start) if start.entity == FLEET else OverOne(start)
        self.shell = self._authority.shell

    @workflow.run
    async def run(self, _start: ActorInput) -> None:
        """Lives until continue-as-new; its argument was taken by `__init__`."""
        await self.shell.run()

    @workflow.update(name="begin")
    def begin(self, request: Begin) -> BeginAnswer:
        """The last word before an act. Law: it commits before it is heard, and in one order with `stop`."""
        return self._authority.begin(request)

    @workflow.update(name="stop")
    async def stop(self, request: Stop) -> StopAnswer:
        """Law: once this is answered no irreversible act begins; of `pool/fleet`, in no pool."""
        return await self._authority.stop(request)

    @workflow.update(name="resume")
    def resume(self, request: Resume) -> StopAnswer:
        """Lifts the stop."""
        return self._authority.resume(request)

    @workflow.update(name="write_off")
    def write_off(self, request: WriteOff) -> PersonAnswer:
        """Frees the slot of a node that will not come back by itself."""
        return self._authority.write_off(request)

    @begin.validator
    def check_begin(self, request: Begin) -> None:
        """Raises ValueError where this guard keeps no slots."""
        self._authority.need_slots(f"begin for {request.node}")

    @stop.validator
    def check_stop(self, request: Stop) -> None:
        """Raises ValueError where nobody asks."""
        need_person(request.person)

    @resume.validator
    def check_resume(self, request: Resume) -> None:
        """Raises ValueError where nobody asks."""
        need_person(request.person)

    @write_off.validator
    def check_write_off(self, request: WriteOff) -> None:
        """Raises ValueError where nobody asks, or this guard keeps no slots."""
        need_person(request.person)
        self._authority.need_slots(f"write off {request.node}")
