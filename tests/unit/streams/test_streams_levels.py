"""Samples, repairs, attribution and seats."""

from __future__ import annotations

from gpuward.contracts.observations import GpuMissing, observation_id
from gpuward.contracts.remedies import Remedy
from tests.unit.streams.making import BOOT, Node, at, gpu, inventory, recovery, sample, slot, xid


def test_a_new_driver_session_that_asks_for_nothing_clears_the_fault():
    node = Node()
    node.feed(xid(48, 1))
    assert node.feed(sample(10)) == []
    (cleared,) = node.feed(sample(20, session={0: "s2"}))
    assert cleared.phase == "cleared"
    assert "session" in cleared.cleared_because


def test_a_new_session_that_still_asks_for_a_reset_clears_nothing():
    node = Node()
    node.feed(xid(48, 1))
    (update,) = node.feed(sample(20, session={0: "s2"}, recovery_action={0: 1}))
    assert (update.phase, update.recovery_action) == ("updated", 1)
    (cleared,) = node.feed(sample(30, session={0: "s2"}))
    assert cleared.phase == "cleared"


def test_another_boot_clears_what_belongs_to_the_last_one():
    node = Node()
    node.feed(xid(79, 1))
    (missing_is_explained, *_) = (*node.feed(sample(5, missing={0: True})), None)
    assert missing_is_explained is None
    (cleared,) = node.feed(sample(60, boot="boot-2", session={0: "s9", 1: "s9"}), boot="boot-2")
    assert "boot" in cleared.cleared_because


def test_an_old_sample_clears_nothing():
    node = Node()
    node.feed(xid(48, 100))
    assert node.feed(sample(50, session={0: "s2"})) == []


def test_what_is_said_to_have_happened_before_the_repair_is_history():
    node = Node()
    node.feed(xid(48, 1))
    node.feed(sample(20, session={0: "s2"}))
    assert node.feed(xid(48, 15)) == []
    assert node.feed(xid(48, 25))[0].phase == "raised"


def test_a_sample_alone_can_say_that_the_driver_wants_a_reset():
    node = Node()
    (raised,) = node.feed(sample(10, recovery_action={1: 1}))
    assert (raised.entity, raised.fault_class) == (f"gpu/{gpu(1)}", "gpu.recovery_action")
    assert node.feed(sample(20, recovery_action={1: 1})) == []
    (cleared,) = node.feed(sample(30))
    assert cleared.phase == "cleared"


def test_a_delta_says_nothing_before_the_first_full_sample():
    node = Node(known=False)
    assert node.feed(sample(10, full=False, recovery_action={1: 1})) == []
    node.feed(sample(20))
    assert node.feed(sample(30, full=False, recovery_action={1: 1}))[0].fault_class == "gpu.recovery_action"


def test_a_remap_that_failed_asks_a_person_and_one_that_waits_is_watched():
    node = Node()
    faults = node.feed(sample(10, remap_failure={0: True}, remap_pending={1: True}))
    remedies = {fault.fault_class: fault.verdict.remedy for fault in faults}
    assert remedies == {
        "gpu.memory.remap_failed": Remedy.ASK_PERSON,
        "gpu.memory.remap_pending": Remedy.OBSERVE,
    }


def test_a_pending_remap_is_explained_by_its_48_in_either_order():
    one, other = Node(), Node()
    one.feed(xid(48, 1))
    one.feed(sample(10, remap_pending={0: True}))
    other.feed(sample(0.5, remap_pending={0: True}))
    other.feed(xid(48, 1))
    assert set(one.standing()) == set(other.standing()) == {"gpu.xid.48"}


def test_a_missing_gpu_is_a_fault_until_it_answers():
    node = Node()
    seen = GpuMissing(id=observation_id("missing"), time=at(5), device=slot(0))
    assert node.feed(seen)[0].fault_class == "gpu.missing"
    assert node.feed(sample(10, missing={0: True})) == []
    assert node.feed(sample(20))[0].phase == "cleared"


def test_a_slot_fault_moves_to_its_gpu_once_the_map_of_that_boot_is_known():
    node = Node(known=False)
    (slot_fault,) = node.feed(xid(79, 1))
    cleared, raised = node.feed(sample(5))
    assert (cleared.fault_id, cleared.phase) == (slot_fault.fault_id, "cleared")
    assert raised.entity == f"gpu/{gpu(0)}"
    assert raised.evidence == slot_fault.evidence


def test_a_late_line_of_an_old_boot_is_attributed_by_the_map_of_that_boot():
    node = Node()
    node.feed(sample(50, boot="boot-2", owners=[gpu(7), gpu(1)]), boot="boot-2")
    (fault,) = node.feed(xid(79, -5, boot=BOOT), boot="boot-2")
    assert fault.entity == f"gpu/{gpu(0)}"
    assert fault.boot_id == BOOT
    node.feed(sample(60, boot="boot-2", owners=[gpu(7), gpu(1)]), boot="boot-2")
    assert not any(fault.entity == f"gpu/{gpu(7)}" for fault in node.faults)


def test_inventory_seats_the_faults_and_tells_node_rack_and_gpus():
    node = Node()
    changes = node.seat(inventory())
    assert [str(change.entity) for change in changes] == ["node/n1", "rack/r1", f"gpu/{gpu(0)}", f"gpu/{gpu(1)}"]
    assert changes[2].seat.slot == slot(0)
    (fault,) = node.feed(xid(79, 1))
    assert (fault.seat.rack, fault.seat.pool, fault.seat.slot) == ("r1", "default", slot(0))
    assert fault.seat.epoch == int(at(-60).timestamp() * 1000)
    assert fault.revision.seat_epoch == fault.seat.epoch


def test_the_same_record_again_changes_nothing_and_a_new_boot_is_told_to_the_node_only():
    node = Node()
    node.seat(inventory())
    assert node.seat(inventory()) == []
    assert node.seat(inventory(-30)) == []
    assert [str(change.entity) for change in node.seat(inventory(5, boot="boot-2"))] == ["node/n1"]


def test_an_unchanged_seat_keeps_its_epoch_and_a_new_rack_begins_one():
    node = Node()
    node.seat(inventory())
    node.seat(inventory(100, boot="boot-2"))
    moved = node.seat(inventory(200, rack="r2", boot="boot-2"))
    assert [str(change.entity) for change in moved[:3]] == ["node/n1", "rack/r1", "rack/r2"]
    assert moved[1].removed
    assert moved[0].seat.epoch == int(at(200).timestamp() * 1000)


def test_an_open_fault_is_told_its_seat_when_the_inventory_learns_it():
    node = Node()
    (raised,) = node.feed(xid(79, 1))
    assert raised.seat.rack is None
    node.seat(inventory(5))
    update = node.faults[-1]
    assert (update.phase, update.seat.rack) == ("updated", "r1")
    assert update.revision > raised.revision


def test_the_view_survives_being_written_and_read():
    node = Node()
    node.seat(inventory())
    node.feed(xid(48, 1, seq=7), recovery(0, 4, 2), xid(31, 3, device=1))
    again = type(node.view).model_validate_json(node.view.to_json())
    assert again == node.view


def test_a_sample_that_changes_nothing_leaves_the_very_same_view():
    node = Node()
    before = node.view
    node.feed(sample(10))
    node.feed(sample(20, full=False, temperature_c={0: 50}) if False else sample(21))
    assert node.view is before
