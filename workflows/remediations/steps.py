"""The words of a table of steps, and what it means that a step has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuward.contracts import acts
from gpuward.contracts.actions import ACTIONS, Effect
from gpuward.contracts.claims import AttemptResult
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import Remedy

StepResult = Literal["done", "gone", "refused", "unknown", "unseen", "failed", "revoked"]


@dataclass(frozen=True, slots=True)
class Step:
    """One row. A step begins when all in `after` have ended well.

    `act`: from here on nothing unwinds; a failure quarantines. `observed_by` names the step that finds out what an act of
    unknown outcome did. `optional`: its failure is recorded and stops nothing. `report`: what the node is told at its start.
    `want`: what an `await_session` looks for.
    """

    name: str
    action: str
    undo: str | None = None
    after: tuple[str, ...] = ()
    act: bool = False
    observed_by: str | None = None
    optional: bool = False
    report: str | None = None
    want: Literal["boot", "session", "power"] | None = None

    @property
    def irreversible(self) -> bool:
        return ACTIONS[self.action].effect is Effect.IRREVERSIBLE


@dataclass(frozen=True, slots=True)
class Repair:
    """One remedy: its table, and what it is called when every step has ended well."""

    remedy: Remedy
    steps: tuple[Step, ...]
    ends: AttemptResult = AttemptResult.REPAIRED


@dataclass(frozen=True, slots=True)
class Ended:
    """How a step ended, or (`step` empty) why the whole attempt was broken off."""

    step: str
    result: StepResult
    reason: str = ""
    answer: Contract | None = None


def judge(step: Step, answer: Contract) -> Ended:
    """What an action's answer means for its step. Law: what could not be proven or measured is never `done`."""
    result, reason = _meaning(answer)
    return Ended(step.name, result, reason, answer)


def _meaning(answer: Contract) -> tuple[StepResult, str]:
    result: StepResult
    reason = getattr(answer, "reason", "")
    match answer:
        case acts.Proof(proven=False, gone=gone):
            result, text = ("gone", "the condition no longer stands") if gone else ("refused", "not proven")
        case acts.ActResult(declined=True):
            result, text = "failed", "the machine answered that it did not do it"
        case acts.CordonResult() | acts.ActResult():
            result, text = answer.result, "" if answer.result == "done" else f"{answer.result}, no reason given"
        case acts.SessionSeen(seen=False):
            result, text = "unseen", "its effect was not seen until the deadline"
        case acts.Validation(passed=False):
            result, text = "failed", f"did not pass: {', '.join(answer.failed)}"
        case _:
            result, text = "done", ""
    return result, reason or text


def goes_on(step: Step, ended: Ended) -> bool:
    """Whether the steps after it may begin. An unknown outcome goes on only to the step that observes it."""
    return ended.result == "done" or step.optional or (ended.result == "unknown" and step.observed_by is not None)
