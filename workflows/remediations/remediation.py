"""The child workflow that runs one attempt: its steps, its reports to the node, its undos, its records."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import REMEDIATION_WORKFLOW
    from gpuward.contracts.acts import ActResult
    from gpuward.contracts.claims import Explained, Report, Token, TokenRenewed
    from gpuward.contracts.messages import OtherMessage
    from gpuward.contracts.remediation import RemediationInput
    from gpuward.runtime import failpoints
    from workflows.inbox import Inbox
    from workflows.perform import perform, why
    from workflows.remediations.attempt import Attempt
    from workflows.remediations.conclude import Conclusion, acted, conclude
    from workflows.remediations.record import Record
    from workflows.remediations.registry import REPAIRS
    from workflows.remediations.runner import Runner
    from workflows.remediations.steps import Ended, Repair, Step, StepResult, judge


@workflow.defn(name=REMEDIATION_WORKFLOW)
class Remediation:
    """Ends by itself, always with a report; the server never times it out. Returns its last report."""

    @workflow.init
    def __init__(self, start: RemediationInput) -> None:
        self._attempt = Attempt(start)
        self._repair = REPAIRS.get(start.remedy, Repair(start.remedy, ()))
        self._runner = Runner(self._repair.steps, self._execute)
        self._record = Record(self._attempt)
        self._inbox = Inbox([])
        self._in_act = False
        self._waiting = False
        self._closed = False

    @workflow.signal(dynamic=True)
    def deliver(self, _name: str, lists: Sequence[RawValue]) -> None:
        """A renewed token, an explanation, a ping. Unlike an actor's, this history is short: they are read at once. Dynamic
        as an actor's (`workflows.actors.doors`).
        """
        for items in lists:
            self._inbox.put(items)
        for message in self._inbox.take(10_000):
            match message:
                case TokenRenewed():
                    self._attempt.renew(message)
                case Explained():
                    self._break_off(Ended("", "revoked", f"explained by {message.incident}"))
                case OtherMessage(kind="ping"):
                    self._record.say_again()

    @workflow.query(name="view")
    def view(self) -> dict[str, str]:
        """Step → how it ended, or `running`."""
        ended = self._runner.ended
        return {step.name: ended[step.name].result if step.name in ended else "running" for step in self._runner.begun}

    @workflow.run
    async def run(self, start: RemediationInput) -> Report:
        """Waits for the end. Law: a remediation has a deadline; it and a cancellation break it off, and what is under way is
        waited for.
        """
        self._record.background.start(self._whole(start))
        deadline = workflow.now() + timedelta(seconds=start.limits.remediation_deadline_s)
        passed = False
        while not self._closed:
            left = None if passed else max(deadline - workflow.now(), timedelta(0))
            try:
                await workflow.wait_condition(lambda: self._closed or self._record.defect, timeout=left)
            except TimeoutError:
                passed = True
                result: StepResult = "refused" if self._waiting else "failed"
                self._runner.stop(Ended("", result, "the remediation's deadline has passed"))
            except asyncio.CancelledError:
                self._break_off(Ended("", "revoked", "cancelled"))
            self._record.background.check()
        return self._record.last

    async def _whole(self, start: RemediationInput) -> None:
        """Steps, then (before the act) undos, then the end: told to the node, written to the ledger."""
        if start.remedy not in REPAIRS:
            self._runner.stop(Ended("", "refused", f"there is no remediation for {start.remedy}"))
        await self._runner.run()
        conclusion = conclude(self._repair, self._runner.ended, self._runner.stopped)
        if not conclusion.acted and self._runner.stopped is not None:
            await self._unwind()
        await self._close(conclusion)
        self._closed = True

    def _break_off(self, reason: Ended) -> None:
        """Before the act only: once it may have been sent, it is observed to its end."""
        if not self._in_act and not acted(self._repair, self._runner.ended):
            self._runner.stop(reason)

    # -- steps --------------------------------------------------------------------------------------------------------

    async def _execute(self, step: Step) -> Ended:
        if step.report is not None:
            self._record.report(step.report, boot_id=self._attempt.boot_id)
        ended = await (self._act(step) if step.irreversible else self._do(step))
        self._attempt.learn(ended)
        return ended

    async def _do(self, step: Step) -> Ended:
        try:
            answer = await perform(step.action, self._attempt.request(step, workflow.now()))
        except ActivityError as error:
            ended = Ended(step.name, "failed", why(error))
        else:
            ended = judge(step, answer)
        self._record.step(step, ended)
        return ended

    async def _act(self, step: Step) -> Ended:
        """Law: never issued again unless it was refused, which means that nothing was sent, and a newer token came."""
        while True:
            token = self._attempt.token
            self._record.flush()
            self._in_act = step.act
            answer = await perform(step.action, self._attempt.request(step, workflow.now()))
            self._in_act = False
            assert isinstance(answer, ActResult)
            ended = judge(step, answer)
            self._record.step(step, ended)
            stopped = ended.result == "refused" and ended.reason.startswith("stop")
            if stopped and token == self._attempt.token:
                self._record.report("waiting_for_token", why=ended.reason)
                await self._newer_than(token)
            if ended.result != "refused" or token == self._attempt.token or self._runner.stopped is not None:
                return ended
            if stopped and step.report is not None:
                self._record.report(step.report, boot_id=self._attempt.boot_id)

    async def _newer_than(self, token: Token) -> None:
        """Waits for another token, or until the attempt is broken off. The cordon stays meanwhile."""
        self._waiting = True
        await workflow.wait_condition(lambda: self._attempt.token != token or self._runner.stopped is not None)
        self._waiting = False

    # -- the end ------------------------------------------------------------------------------------------------------

    async def _unwind(self) -> None:
        """Undoes in reverse. The activities undo only what is ours: what a person changed meanwhile stays."""
        for step in self._runner.to_undo():
            assert step.undo is not None
            try:
                await perform(step.undo, self._attempt.request(step, workflow.now()))
            except ActivityError as error:
                self._record.undone(step, "failed", why(error))
            else:
                self._record.undone(step, "undone")

    async def _close(self, conclusion: Conclusion) -> None:
        """Tells the node and empties the outbox. While either is away this stays and answers pings."""
        self._record.report(
            "ended",
            result=conclusion.result,
            acted=conclusion.acted,
            why=conclusion.why,
            boot_id=self._attempt.boot_id,
        )
        await workflow.wait_condition(lambda: self._record.told)
        if not workflow.unsafe.is_replaying():
            failpoints.hit("parent signalled")
        await workflow.wait_condition(lambda: self._record.written)
