"""What an attempt is called when its steps have ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuward.contracts.claims import AttemptResult
from workflows.remediations.steps import Ended, Repair, StepResult

BEFORE_THE_ACT: dict[StepResult, AttemptResult] = {
    "gone": AttemptResult.REVOKED,
    "revoked": AttemptResult.REVOKED,
    "refused": AttemptResult.REFUSED,
    "unknown": AttemptResult.UNKNOWN,
    "unseen": AttemptResult.FAILED,
    "failed": AttemptResult.FAILED,
}
SENT = ("done", "unknown", "failed")


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`acted`: whether the irreversible act was sent; if not, the attempt unwinds."""

    result: AttemptResult
    acted: bool
    why: str


def acted(repair: Repair, ended: Mapping[str, Ended]) -> bool:
    """Whether the act was sent. One that the machine declined was: the node is ill, its work is gone, the cordon stays."""
    return any(step.act and step.name in ended and ended[step.name].result in SENT for step in repair.steps)


def conclude(repair: Repair, ended: Mapping[str, Ended], stopped: Ended | None) -> Conclusion:
    """Law: an unknown outcome that was not seen stays `UNKNOWN`; one accepted and not seen is `NO_EFFECT`."""
    done = acted(repair, ended)
    if stopped is None:
        missed = [f"{end.step}: {end.reason}" for end in ended.values() if end.result == "failed"]
        return Conclusion(repair.ends, done, "; ".join(missed))
    why = f"{stopped.step}: {stopped.reason}" if stopped.step else stopped.reason
    if not done:
        return Conclusion(BEFORE_THE_ACT.get(stopped.result, AttemptResult.FAILED), acted=False, why=why)
    act = next(step for step in repair.steps if step.act)
    seen = any(end.step == act.observed_by and end.result == "done" for end in ended.values())
    if ended[act.name].result == "unknown" and not seen:
        lost = ended[act.name].reason
        return Conclusion(AttemptResult.UNKNOWN, acted=True, why=why if lost in why else f"{why}; {act.name}: {lost}")
    if stopped.result == "unseen":
        return Conclusion(AttemptResult.NO_EFFECT, acted=True, why=why)
    return Conclusion(AttemptResult.FAILED, acted=True, why=why)
