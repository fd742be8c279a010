from __future__ import annotations

import threading
from datetime import UTC, datetime

from gpuward.contracts.observations import KernelFaultLogged
from ingest.collectors.kmsg import parse_record
from ingest.local_node import LocalNode

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Collecting:
    def __init__(self, name: str, gate: threading.Event | None = None) -> None:
        self.name = name
        self.gate = gate
        self.is_supported = True
        self.seen: list = []
        self.polls = 0

    def supported(self):
        return self.is_supported

    def poll(self):
        self.polls += 1
        if self.gate is not None:
            self.gate.wait(5)
        seen, self.seen = self.seen, []
        return seen

    def close(self):
        pass


def test_each_collector_has_its_own_limit():
    gate = threading.Event()
    hung, well = Collecting("nvml", gate), Collecting("kernel-log")
    node = LocalNode("n1", [hung, well], limit_s=0.05, clock=lambda: NOW)
    well.seen = [KernelFaultLogged(id="1", time=NOW, code="oom_kill")]
    kinds = [(o.kind, getattr(o, "collector", "")) for o in node.poll()]
    assert kinds == [("collector_failed", "nvml"), ("kernel", "")]
    assert list(node.poll()) == []
    hung.seen = [KernelFaultLogged(id="2", time=NOW, code="late")]
    gate.set()
    while not (late := list(node.poll())):
        pass
    assert [o.code for o in late] == ["late"]


def test_what_the_machine_does_not_support_is_left_out():
    absent = Collecting("nvml")
    absent.is_supported = False
    node = LocalNode("n1", [absent])
    assert list(node.poll()) == []
    assert absent.polls == 0


def test_inventory_names_the_running_boot():
    inventory = LocalNode("n1", [], rack="r1").inventory()
    assert (inventory.node, inventory.source, inventory.rack) == ("n1", "agent/n1", "r1")


def test_kmsg_records():
    assert parse_record(b"6,339,5140900,-;NVRM: x\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n") == (
        339,
        "6,339,5140900,-;NVRM: x",
    )
    for broken in (b"", b"\n", b"6,x,1,-;a", b"6,1;a", "6,٣,1,-;a".encode()):
        assert parse_record(broken) is None
