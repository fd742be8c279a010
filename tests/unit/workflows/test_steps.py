"""Tables, judgements and conclusions of remediations."""

from __future__ import annotations

import re
import sys

import pytest

from gpuward.contracts import acts
from gpuward.contracts.actions import ACTIONS, Effect
from gpuward.contracts.claims import AttemptResult
from workflows.remediations.conclude import conclude
from workflows.remediations.registry import REPAIRS
from workflows.remediations.steps import Ended, Step, goes_on, judge

ALL = list(REPAIRS.values())


@pytest.mark.parametrize("repair", ALL, ids=lambda r: r.remedy)
def test_the_table_that_opens_the_file_is_the_table_that_runs(repair):
    module = next(m for n, m in sys.modules.items() if n == f"workflows.remediations.{repair.remedy}")
    rows = [tuple(re.split(r" {2,}", line.strip())) for line in module.__doc__.splitlines()]
    shown = [row for row in rows if len(row) == 4][1:]
    real = [(s.name, s.action, s.undo or "-", ", ".join(s.after) or "-") for s in repair.steps]
    assert shown == real


@pytest.mark.parametrize("repair", ALL, ids=lambda r: r.remedy)
def test_every_step_is_a_row_and_every_reversible_one_names_its_undo(repair):
    for step in repair.steps:
        assert ACTIONS[step.action].effect is not Effect.REVERSIBLE or step.undo == ACTIONS[step.action].undo
        assert not step.act or step.irreversible
        assert not step.optional or not step.irreversible


@pytest.mark.parametrize("repair", ALL, ids=lambda r: r.remedy)
def test_nothing_irreversible_begins_before_the_proof_and_our_cordon(repair):
    by_name = {step.name: step for step in repair.steps}

    def before(step: Step) -> set[str]:
        return set(step.after) | {name for other in step.after for name in before(by_name[other])}

    for step in repair.steps:
        if step.irreversible:
            assert {"recheck", "cordon"} <= before(step)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (acts.Proof(proven=True), "done"),
        (acts.Proof(proven=False), "refused"),
        (acts.Proof(proven=False, gone=True), "gone"),
        (acts.CordonResult(result="refused"), "refused"),
        (acts.ActResult(result="unknown"), "unknown"),
        (acts.ActResult(result="done", declined=True), "failed"),
        (acts.SessionSeen(seen=False), "unseen"),
        (acts.SessionSeen(seen=True), "done"),
        (acts.Validation(passed=False, failed=("ecc",)), "failed"),
        (acts.EvidenceBundle(), "done"),
    ],
)
def test_what_an_answer_means(answer, result):
    ended = judge(Step("s", "node.recheck"), answer)
    assert ended.result == result
    assert result == "done" or ended.reason


def test_an_unknown_outcome_goes_on_only_to_the_step_that_observes_it():
    unknown = Ended("act", "unknown")
    assert goes_on(Step("act", "gpu.reset", act=True, observed_by="session"), unknown)
    assert not goes_on(Step("evict", "node.evict"), unknown)


REBOOT = next(repair for repair in ALL if repair.remedy == "reboot_node")


def _ended(**results: str) -> dict[str, Ended]:
    return {step: Ended(step, result) for step, result in results.items()}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ended", "stopped", "result", "acted"),
    [
        (_ended(act="unknown", session="unseen"), "unseen", AttemptResult.UNKNOWN, True),
        (_ended(act="unknown", session="revoked"), "failed", AttemptResult.UNKNOWN, True),
        (_ended(act="unknown", session="done", validate="failed"), "failed", AttemptResult.FAILED, True),
        (_ended(act="done", session="unseen"), "unseen", AttemptResult.NO_EFFECT, True),
        (_ended(act="refused"), "refused", AttemptResult.REFUSED, False),
        (_ended(evict="unknown"), "unknown", AttemptResult.UNKNOWN, False),
        (_ended(recheck="gone"), "gone", AttemptResult.REVOKED, False),
    ],
)
def test_what_an_attempt_is_called(ended, stopped, result, acted):
    last = list(ended)[-1]
    conclusion = conclude(REBOOT, ended, Ended(last, stopped, "because"))
    assert (conclusion.result, conclusion.acted) == (result, acted)
    assert "because" in conclusion.why
