"""The default policy, held to NVIDIA's catalogue code by code, and the law of the more disturbing answer."""

from __future__ import annotations

import pytest

from gpuward.contracts.catalogue.xids import XidAction, xid, xids
from gpuward.contracts.errors import Permanent
from gpuward.contracts.identity import Entity, NodeId
from gpuward.contracts.policy import Override, Policy
from gpuward.contracts.remedies import Remedy, Severity
from gpuward.contracts.seat import Seat
from streams.classify import Classifier
from streams.rules.context import Facts
from tests.unit.streams.making import classifier

SEAT = Seat(node=NodeId("n1"))
GPU = Entity.gpu("GPU-x")
_A, _R = XidAction, Remedy
REMEDY_OF = {
    _A.IGNORE: _R.OBSERVE,
    _A.WORKFLOW_XID_45: _R.OBSERVE,
    _A.UPDATE_SWFW: _R.OBSERVE,
    _A.PLAN_REPLACE: _R.OBSERVE,
    _A.CHECK_UVM: _R.OBSERVE,
    _A.DRAIN_AND_RESET_WHEN_IDLE: _R.OBSERVE,
    _A.RESTART_APP: _R.RESTART_APP,
    _A.RESET_GPU: _R.RESET_GPU,
    _A.WORKFLOW_XID_48: _R.RESET_GPU,
    _A.FOLLOW_XID_48: _R.RESET_GPU,
    _A.WORKFLOW_NVLINK_ERR: _R.RESET_GPU,
    _A.WORKFLOW_NVLINK5_ERR: _R.RESET_GPU,
    _A.RESTART_BM: _R.REBOOT_NODE,
    _A.RESTART_VM: _R.ASK_PERSON,
    _A.RESTART_VM_OR_BM: _R.ASK_PERSON,
    _A.CHECK_MECHANICALS: _R.ASK_PERSON,
    _A.CONTACT_SUPPORT: _R.ASK_PERSON,
}


def verdict(fault_class: str, *codes: int, **facts):
    return classifier()(Facts(fault_class, GPU, codes, **facts), SEAT)


@pytest.mark.parametrize("code", sorted(code for code, row in xids().items() if row.action is not _A.XID_154))
def test_every_code_gets_the_remedy_of_its_catalogue_action(code):
    assert verdict(f"gpu.xid.{code}", code).remedy is REMEDY_OF[xid(code).action]


@pytest.mark.parametrize("code", [999, 177, 1234])
def test_a_code_that_the_catalogue_does_not_list_asks_a_person(code):
    assert verdict(f"gpu.xid.{code}", code).remedy is Remedy.ASK_PERSON


@pytest.mark.parametrize(
    ("action", "remedy"),
    [
        (1, _R.RESET_GPU),
        (2, _R.REBOOT_NODE),
        (3, _R.ASK_PERSON),
        (4, _R.RESET_GPU),
        (5, _R.ASK_PERSON),
        (6, _R.RESET_GPU),
        (7, _R.REBOOT_NODE),
        (42, _R.ASK_PERSON),
    ],
)
def test_the_drivers_own_answer(action, remedy):
    assert verdict("gpu.recovery_action", 154, recovery_action=action).remedy is remedy


@pytest.mark.parametrize(
    ("code", "action", "remedy"),
    [
        (79, 1, _R.REBOOT_NODE),
        (48, 2, _R.REBOOT_NODE),
        (31, 1, _R.RESET_GPU),
        (31, 2, _R.REBOOT_NODE),
        (63, 4, _R.RESET_GPU),
        (999, 1, _R.ASK_PERSON),
        (94, 0, _R.RESTART_APP),
    ],
)
def test_the_more_disturbing_of_code_and_recovery_action_wins(code, action, remedy):
    assert verdict(f"gpu.xid.{code}", code, recovery_action=action).remedy is remedy


def test_48_with_a_remap_is_told_apart_by_its_folded_codes():
    assert "remap" in verdict("gpu.xid.48", 48, 63).because
    assert "remap" not in verdict("gpu.xid.48", 48).because


def test_an_expression_that_is_not_cel_is_refused_when_the_policy_is_loaded():
    row = Override(classes=("*",), when="fault.(", severity=Severity.INFO, ladder=(Remedy.OBSERVE,), because="x")
    with pytest.raises(Permanent, match="not CEL"):
        Classifier(Policy(faults=(row,)))


def test_an_expression_that_fails_for_these_facts_does_not_match():
    broken = Override(
        classes=("*",), when="fault.nothing > 3", severity=Severity.INFO, ladder=(Remedy.DRAIN,), because="x"
    )
    rest = Override(classes=("*",), severity=Severity.INFO, ladder=(Remedy.OBSERVE,), because="y")
    found = Classifier(Policy(faults=(broken, rest)))(Facts("a", GPU), SEAT)
    assert (found.because, found.policy) == ("y", "")


def test_a_class_that_no_rule_names_is_watched():
    assert Classifier(Policy())(Facts("a", GPU), SEAT).remedy is Remedy.OBSERVE
