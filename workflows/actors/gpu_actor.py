"""The actor of one physical GPU: it moves with the board and lives as long."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput
    from workflows.actors.brain import Brain
    from workflows.actors.doors import Doors
    from workflows.actors.shell import Shell
    from workflows.decide import gpu

BRAIN = Brain(gpu.State, gpu.born, gpu.decide, gpu.next_wake, gpu.summary, gpu.lifecycle)


@workflow.defn(name="GpuActor")
class GpuActor(Doors):
    """A shell around `workflows.decide.gpu`."""

    @workflow.init
    def __init__(self, start: ActorInput) -> None:
        self.shell = Shell(BRAIN, start)

    @workflow.run
    async def run(self, _start: ActorInput) -> None:
        """Lives until continue-as-new; its argument was taken by `__init__`."""
        await self.shell.run()
