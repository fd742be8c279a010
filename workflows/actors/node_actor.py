"""The actor of one node: merges claims into one plan, runs one remediation at a time, hands the node back."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput
    from gpuward.contracts.updates import Approve, PendingQuestion, PersonAnswer, Reject
    from workflows.actors.brain import Brain
    from workflows.actors.doors import Doors, need_person
    from workflows.actors.shell import Shell
    from workflows.decide import node
    from workflows.decide.events import PersonSaid
    from workflows.decide.node_state import State

BRAIN = Brain(State, node.born, node.decide, node.next_wake, node.summary, node.lifecycle)


@workflow.defn(name="NodeActor")
class NodeActor(Doors):
    """A shell around `workflows.decide.node`."""

    @workflow.init
    def __init__(self, start: ActorInput) -> None:
        self.shell: Shell[State] = Shell(BRAIN, start)

    @workflow.run
    async def run(self, _start: ActorInput) -> None:
        """Lives until continue-as-new; its argument was taken by `__init__`."""
        await self.shell.run()

    @workflow.query(name="question")
    def question(self) -> PendingQuestion | None:
        """What the node waits for a person to say; None: nothing."""
        return node.question(self.shell.state)

    @workflow.update(name="approve")
    def approve(self, said: Approve) -> PersonAnswer:
        """The plan's next rung may be tried."""
        self.shell.heard(PersonSaid(said=said, verb="approve"))
        return PersonAnswer(accepted=True, text=BRAIN.summary(self.shell.state))

    @workflow.update(name="reject")
    def reject(self, said: Reject) -> PersonAnswer:
        """The asked remedy is not wanted."""
        self.shell.heard(PersonSaid(said=said, verb="reject"))
        return PersonAnswer(accepted=True, text=BRAIN.summary(self.shell.state))

    @approve.validator
    def check_approve(self, said: Approve) -> None:
        """Raises ValueError for a plan or attempt that is not asked about."""
        self._check(said)

    @reject.validator
    def check_reject(self, said: Reject) -> None:
        """Raises ValueError for a plan or attempt that is not asked about."""
        self._check(said)

    def _check(self, said: Approve | Reject) -> None:
        need_person(said.person)
        reason = node.check_approve(self.shell.state, said, workflow.now())
        if reason is not None:
            raise ValueError(reason)
