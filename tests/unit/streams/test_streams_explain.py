"""Explain runs the same rules over a file."""

from __future__ import annotations

from gpuward.runtime.policy import load
from streams.explain import faults_of, standing
from tests.unit.streams.making import recovery, slot, xid


def test_without_a_uuid_map_the_entity_is_the_slot_and_a_burst_is_one_fault():
    lines = [xid(48, 1, seq=1), xid(63, 1.1, seq=2), recovery(0, 4, 1.2, seq=3), xid(45, 2, seq=4)]
    (fault,) = standing(faults_of(lines, load(), "file-hash"))
    assert fault.entity == f"gpu/{slot(0)}"
    assert fault.fault_class == "gpu.xid.48"
    assert set(fault.codes) == {48, 63, 154, 45}
    assert fault.boot_id == "file-hash"


def test_an_application_error_of_hours_ago_is_still_explained():
    faults = standing(faults_of([xid(31, 1, seq=1), xid(79, 9000, seq=2, device=1)], load(), "h"))
    assert [fault.fault_class for fault in faults] == ["gpu.xid.31", "gpu.xid.79"]


def test_nothing_logged_explains_nothing():
    assert faults_of([], load(), "h") == []
