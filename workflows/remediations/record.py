"""What a remediation says: reports to its node, outcomes to the ledger."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.claims import AttemptResult, Report
    from gpuward.contracts.identity import Entity
    from gpuward.contracts.outcomes import OutcomeKind
    from workflows.background import Background
    from workflows.decide.decisions import Note
    from workflows.outbox import Outbox
    from workflows.post import Post
    from workflows.remediations.attempt import Attempt
    from workflows.remediations.steps import Ended, Step


class Record:
    """Outcomes are the node's, with the plan and attempt as their cause. They gather, and leave before something
    irreversible begins and with each report: a whole repair is a few appends.
    """

    last: Report

    def __init__(self, attempt: Attempt) -> None:
        self.background = Background()
        self._attempt = attempt
        self._node = Entity.node(attempt.start.node)
        self._said = False
        epoch_ms = int(workflow.info().workflow_start_time.timestamp() * 1000)
        self._outbox = Outbox(self._node, self.background, lambda: None, epoch_ms)
        self._post = Post(self.background, lambda _to, _why: None)

    @property
    def defect(self) -> bool:
        """Whether something in the background has broken."""
        return self.background.defect is not None

    @property
    def told(self) -> bool:
        """Whether every report has been delivered."""
        return not self._post.lanes

    @property
    def written(self) -> bool:
        """Whether the ledger has acknowledged everything."""
        return not self._outbox.waiting

    def report(
        self, step: str, *, result: AttemptResult | None = None, boot_id: str = "", why: str = "", acted: bool = False
    ) -> None:
        """Tells the node where the attempt has got to."""
        start = self._attempt.start
        self.last = Report(
            plan=start.plan, attempt=start.attempt, step=step, result=result, boot_id=boot_id, why=why, acted=acted
        )
        self._said = True
        self._post.put(self._node, self.last)
        self._post.dispatch()
        self.flush()

    def say_again(self) -> None:
        """The last report once more, for a node that has lost it."""
        if self._said:
            self._post.put(self._node, self.last)
            self._post.dispatch()

    def step(self, step: Step, ended: Ended) -> None:
        """A step has ended: an act by its action's name, another by its own."""
        kind, name = (OutcomeKind.ACT, step.action) if step.irreversible else (OutcomeKind.STEP, step.name)
        text = f"{step.name}: {ended.reason}" if ended.reason else ""
        self._outbox.note(Note(kind, name=name, result=ended.result, text=text, cause=self._attempt.cause()))

    def undone(self, step: Step, result: str, why: str = "") -> None:
        """An undo has ended: `undone` or `failed`."""
        text = f"{step.undo} undid {step.name}" if not why else f"{step.undo} could not undo {step.name}: {why}"
        self._outbox.note(Note(OutcomeKind.STEP, name=step.name, result=result, text=text, cause=self._attempt.cause()))

    def flush(self) -> None:
        """Sends the outcomes gathered so far; nobody waits for it."""
        self._outbox.flush()
