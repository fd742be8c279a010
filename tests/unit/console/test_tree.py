from __future__ import annotations

from gpuward.console.live.tree import counts, natural, tree
from gpuward.contracts.identity import Entity, EntityKind
from tests.unit.console.telling import fleet, record


def test_nodes_stand_in_their_racks_and_gpus_in_their_slots():
    racks = tree(fleet(racks=2, nodes=2, gpus=3))
    assert [rack.name for rack in racks] == ["r01", "r02"]
    assert list(racks[0].nodes) == ["r01-n01", "r01-n02"]
    assert [gpu.slot for gpu in racks[0].nodes["r01-n01"].gpus] == ["0000:00:00.0", "0000:01:00.0", "0000:02:00.0"]


def test_a_gpu_whose_rack_is_not_known_stands_where_its_node_stands():
    racks = tree([record(Entity.gpu("GPU-x"), node="n1"), record(Entity.node("n1"), rack="r01")])
    assert [(rack.name, len(rack.nodes["n1"].gpus)) for rack in racks] == [("r01", 1)]


def test_what_was_removed_is_not_shown():
    assert tree([record(Entity.node("n1"), rack="r01", inventory={"removed": True})]) == []


def test_ten_comes_after_nine():
    assert sorted(["n10", "n9", "n1"], key=natural) == ["n1", "n9", "n10"]


def test_counting():
    assert counts(fleet(r01_n01="failed"), EntityKind.NODE) == {"failed": 1, "healthy": 1}
