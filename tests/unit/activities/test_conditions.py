"""Whether a condition stands: measured, or not proven."""

from __future__ import annotations

import pytest

from activities.conditions import Standing, stands
from activities.power import Gpu, Host

WELL = {
    "uuid": "GPU-1",
    "slot": "0000:1b:00.0",
    "state": "ok",
    "session": "s",
    "recovery_action": 0,
    "remap_pending": False,
    "remap_failure": False,
    "ecc_dbe_volatile": 0,
    "xids": (),
}
LOST = {
    **WELL,
    "state": "lost",
    "session": None,
    "recovery_action": None,
    "remap_pending": None,
    "remap_failure": None,
    "ecc_dbe_volatile": None,
}


def gpu(**changes) -> Gpu:
    return Gpu(**{**WELL, **changes})


@pytest.mark.parametrize(
    ("fault_class", "seen", "answer"),
    [
        ("gpu.xid.79", gpu(), False),
        ("gpu.xid.79", Gpu(**LOST), True),
        ("gpu.xid.79", gpu(xids=(79,)), True),
        ("gpu.xid.48", gpu(xids=(48, 63)), True),
        ("gpu.xid.48", gpu(xids=(63,)), False),
        ("gpu.xid.48", gpu(xids=None), None),
        ("gpu.xid.999", gpu(xids=(999,)), True),
        ("gpu.missing", Gpu(**LOST), True),
        ("gpu.missing", gpu(), False),
        ("gpu.memory.remap_pending", gpu(remap_pending=True), True),
        ("gpu.memory.remap_pending", Gpu(**LOST), None),
        ("gpu.memory.remap_failed", gpu(remap_failure=True), True),
        ("gpu.recovery_action", gpu(recovery_action=4), True),
        ("gpu.recovery_action", gpu(), False),
        ("gpu.recovery_action", Gpu(**{**LOST, "xids": (79, 154)}), True),
        ("node.silent", gpu(), None),
        ("gpu.thermal.sustained", gpu(), None),
    ],
)
def test_what_stands(fault_class, seen, answer) -> None:
    assert stands(fault_class, seen) is answer


def host(*gpus: Gpu) -> Host:
    return Host(node="n1", boot_id="b", smbios_uuid="u", expected_gpus=len(gpus), workload=False, gpus=gpus)


def test_one_that_stands_is_enough_for_the_node() -> None:
    other = gpu(uuid="GPU-2", xids=(48,))
    standing = Standing(host(gpu(), other), (), ("gpu.xid.48", "gpu.xid.79"))
    assert standing.any
    assert standing.cleared == ("GPU-1",)


def test_only_the_gpus_named_are_looked_at() -> None:
    standing = Standing(host(gpu(), gpu(uuid="GPU-2", xids=(48,))), ("GPU-1",), ("gpu.xid.48",))
    assert not standing.any
    assert standing.measured


def test_in_doubt_it_is_not_measured() -> None:
    assert not Standing(host(gpu()), (), ("gpu.xid.48", "node.silent")).measured
    assert not Standing(host(), (), ("gpu.xid.48",)).measured
