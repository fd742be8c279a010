"""The actor of one rack: its nodes, NVLink domains, power and cooling."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput
    from workflows.actors.brain import Brain
    from workflows.actors.doors import Doors
    from workflows.actors.shell import Shell
    from workflows.decide import rack
    from workflows.decide.rack_state import State

BRAIN = Brain(State, rack.born, rack.decide, rack.next_wake, rack.summary, rack.lifecycle)


@workflow.defn(name="RackActor")
class RackActor(Doors):
    """A shell around `workflows.decide.rack`."""

    @workflow.init
    def __init__(self, start: ActorInput) -> None:
        self.shell = Shell(BRAIN, start)

    @workflow.run
    async def run(self, _start: ActorInput) -> None:
        """Lives until continue-as-new; its argument was taken by `__init__`."""
        await self.shell.run()
