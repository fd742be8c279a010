"""The Xid rule: one fault per root, whatever else the driver prints with it."""

from __future__ import annotations

import pytest

from gpuward.contracts.remedies import Remedy, Severity
from tests.unit.streams.making import Node, at, gpu, recovery, slot, xid


def test_an_xid_79_is_a_fault_of_its_gpu_that_asks_for_a_reboot():
    (fault,) = Node().feed(xid(79, 1))

    assert fault.phase == "raised"
    assert fault.entity == f"gpu/{gpu(0)}"
    assert fault.fault_class == "gpu.xid.79"
    assert fault.verdict.remedy is Remedy.REBOOT_NODE
    assert fault.first_seen == at(1)
    assert fault.session == "s1"
    assert fault.evidence[0].text.endswith(": 79")
    assert (fault.evidence[0].topic, fault.evidence[0].offset) == ("fleet.observations.v1", 2)


def test_48_63_94_154_are_one_fault_that_asks_for_one_reset():
    node = Node()
    faults = node.feed(xid(63, 1), xid(48, 1.1), xid(94, 1.2), recovery(0, 4, 1.3))

    (fault,) = faults
    assert fault.fault_class == "gpu.xid.48"
    assert set(fault.codes) == {48, 63, 94, 154}
    assert fault.recovery_action == 4
    assert fault.verdict.remedy is Remedy.RESET_GPU
    assert len(fault.evidence) == 4


def test_a_stronger_root_within_five_seconds_takes_the_weaker_over():
    node = Node()
    (first,) = node.feed(xid(63, 1))
    second = node.feed(xid(48, 3))

    assert [(fault.phase, fault.fault_class) for fault in second] == [
        ("cleared", "gpu.xid.63"),
        ("raised", "gpu.xid.48"),
    ]
    assert second[0].fault_id == first.fault_id
    assert second[0].cleared_because.startswith("folded into gpu.xid.48")
    assert second[1].codes == (63, 48)


def test_a_stronger_root_much_later_is_another_fault():
    node = Node()
    node.feed(xid(63, 1))
    node.feed(xid(48, 60))
    assert set(node.standing()) == {"gpu.xid.63", "gpu.xid.48"}


def test_79_absorbs_what_follows_and_stays_a_reboot_though_the_driver_asks_only_for_a_reset():
    node = Node()
    node.feed(xid(79, 1))
    node.feed(xid(119, 10), recovery(0, 1, 11))

    (fault,) = node.standing().values()
    assert fault.codes == (79, 119, 154)
    assert fault.recovery_action == 1
    assert fault.verdict.remedy is Remedy.REBOOT_NODE


def test_xid_45_alone_never_opens_anything_but_is_counted_with_its_root():
    node = Node()
    assert node.feed(*(xid(45, i / 100, seq=i) for i in range(1000))) == []
    node.feed(xid(13, 20), xid(45, 21, caused_by=13))
    assert node.standing()["gpu.xid.13"].codes == (13, 45)


def test_43_after_13_follows_it():
    node = Node()
    node.feed(xid(43, 1), xid(13, 1.5))
    assert set(node.standing()) == {"gpu.xid.13"}


def test_xid_31_once_is_recorded_and_ends_when_it_is_quiet():
    node = Node()
    (raised,) = node.feed(xid(31, 1))
    assert raised.verdict.remedy is Remedy.RESTART_APP
    assert node.feed(xid(45, 100, device=1)) == []
    (cleared,) = node.feed(xid(45, 300, device=1))
    assert (cleared.phase, cleared.cleared_because) == ("cleared", "quiet")


def test_an_occurrence_after_the_quiet_is_a_new_episode_with_a_newer_revision():
    node = Node()
    (first,) = node.feed(xid(31, 1))
    again = node.feed(xid(31, 1000))
    node.feed(xid(31, 1300, device=1))
    later = node.feed(xid(31, 1301))
    raised = [fault for fault in [*again, *later] if fault.phase == "raised"]
    assert raised[-1].fault_id != first.fault_id
    assert raised[-1].revision > first.revision


def test_an_unknown_code_asks_a_person_and_keeps_its_own_fault():
    node = Node()
    node.feed(xid(999, 1), xid(119, 1.5))
    assert node.standing()["gpu.xid.999"].verdict.remedy is Remedy.ASK_PERSON
    assert node.standing()["gpu.xid.119"].verdict.remedy is Remedy.RESET_GPU


def test_counts_are_told_at_most_once_a_minute_and_a_changed_verdict_at_once():
    node = Node()
    node.feed(xid(48, 0.5))
    assert node.feed(*(xid(48, 1 + i / 10) for i in range(100))) == []
    (update,) = node.feed(xid(48, 70))
    assert (update.phase, update.count) == ("updated", 102)
    (update,) = node.feed(recovery(0, 2, 71))
    assert update.verdict.remedy is Remedy.REBOOT_NODE


def test_154_alone_is_a_fault_and_its_return_to_zero_ends_it():
    node = Node()
    (raised,) = node.feed(recovery(0, 4, 1))
    assert raised.fault_class == "gpu.recovery_action"
    assert raised.verdict.remedy is Remedy.RESET_GPU
    (cleared,) = node.feed(recovery(4, 0, 30))
    assert cleared.phase == "cleared"


def test_a_root_that_follows_its_154_takes_it_over():
    node = Node()
    node.feed(recovery(0, 1, 1))
    node.feed(xid(119, 2))
    (fault,) = node.standing().values()
    assert (fault.fault_class, fault.recovery_action) == ("gpu.xid.119", 1)


def test_162_ends_163():
    node = Node()
    node.feed(xid(163, 1))
    (cleared,) = node.feed(xid(162, 200, device=0))
    assert (cleared.fault_class, cleared.phase) == ("gpu.xid.163", "cleared")


def test_reset_flags_of_a_94_beat_its_table_row():
    (asked,) = Node().feed(xid(94, 1, reset_required=True, drain_reset_required=False))
    assert asked.verdict.remedy is Remedy.RESET_GPU
    (spared,) = Node().feed(xid(95, 1, reset_required=False, drain_reset_required=False))
    assert spared.verdict.remedy is Remedy.RESTART_APP


@pytest.mark.parametrize(
    ("registers", "remedy"),
    [((0x00000021, 0x2), Remedy.RESET_GPU), ((0x00000021, 0x1), Remedy.OBSERVE), ((0x3FF, 0x999), Remedy.ASK_PERSON)],
)
def test_144_is_judged_by_its_registers(registers, remedy):
    (fault,) = Node().feed(xid(144, 1, unit="SAW_MVB", registers=registers))
    assert fault.verdict.remedy is remedy


def test_without_a_map_of_its_boot_it_is_a_slot_fault_of_the_node():
    (fault,) = Node(known=False).feed(xid(79, 1))
    assert fault.entity == "node/n1"
    assert fault.seat.slot == slot(0)


def test_evidence_is_at_most_eight_lines_of_200_characters():
    node = Node()
    long = [
        xid(code, 1 + code / 100).model_copy(update={"text": "x" * 500})
        for code in (48, 63, 94, 31, 13, 45, 43, 8, 32, 61)
    ]
    node.feed(*long)
    for fault in node.standing().values():
        assert len(fault.evidence) <= 8
        assert all(len(evidence.text) <= 200 for evidence in fault.evidence)
    assert node.standing()["gpu.xid.48"].verdict.severity is Severity.CRITICAL
