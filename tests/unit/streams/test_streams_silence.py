"""Silence of one node, blindness for many, and the rack rule over both."""

from __future__ import annotations

from gpuward.contracts.faults import Fault, Revision
from gpuward.contracts.identity import Entity, NodeId, RackId
from gpuward.contracts.remedies import Severity, Verdict
from gpuward.contracts.seat import Seat
from streams.rules import rack_silence
from streams.rules.context import Context
from streams.rules.silence import PartitionView, blindness, fell_silent, judge
from tests.unit.streams.making import Node, at, batch, classifier, inventory, sample

MINUTE = 60_000


def heard(**times: int) -> dict[NodeId, int]:
    return {NodeId(name): at for name, at in times.items()}


def test_a_node_is_silent_when_the_others_moved_on():
    assert judge(heard(a=0, b=70_000, c=70_000), 70_000, MINUTE).nodes == ("a",)
    assert judge(heard(a=20_000, b=70_000, c=70_000), 70_000, MINUTE).nodes == ()


def test_one_node_alone_is_never_silent_and_one_fast_clock_silences_nobody():
    assert judge(heard(a=0), 900_000, MINUTE).nodes == ()
    assert judge(heard(a=0, b=0, c=900_000), 900_000, MINUTE).nodes == ()


def test_many_silent_at_once_is_blindness_and_blames_nobody():
    found = judge(heard(a=0, b=0, c=0, d=90_000), 90_000, MINUTE)
    assert found.blind
    assert found.nodes == ()


def test_after_ten_minutes_without_streams_nothing_is_silent_that_was_not():
    everybody = {NodeId(f"n{i}"): 600_000 + i for i in range(50)}
    assert judge(everybody, 600_050, MINUTE) == ((), False)


def test_silence_asks_a_person_once_and_ends_when_the_node_is_heard():
    node = Node()
    node.seat(inventory())
    node.view, (fault,) = fell_silent(node.view, 5_000, node.context())
    assert (fault.fault_class, fault.verdict.remedy, fault.seat.rack) == ("node.silent", "ask_person", "r1")
    assert fell_silent(node.view, 5_000, node.context())[1] == []
    (cleared,) = node.take(batch(sample(10)))
    assert (cleared.phase, cleared.fault_id) == ("cleared", fault.fault_id)


def test_a_removed_node_is_not_missed():
    node = Node()
    node.seat(inventory(removed=True))
    assert fell_silent(node.view, 5_000, node.context())[1] == []


def test_blindness_is_told_once_and_cleared_once():
    view = PartitionView(watermark_ms=90_000, heard=heard(a=0, b=0, c=0, d=90_000))
    context = Node().context()
    view, (raised,) = blindness(view, judge(view.heard, 90_000, MINUTE), context)
    assert raised.fault_class == "telemetry.blind.0"
    assert len(raised.children) == 3
    assert blindness(view, judge(view.heard, 90_000, MINUTE), context) == (view, [])
    view, (cleared,) = blindness(view, judge(heard(a=90_000, b=90_000), 90_000, MINUTE), context)
    assert (cleared.fault_id, cleared.phase) == (raised.fault_id, "cleared")


RACK = RackId("r1")


def silent(node: int, seconds: float, phase: str = "raised", index: int = 0) -> Fault:
    return Fault(
        phase=phase,
        fault_id=f"f{node}",
        revision=Revision(0, int(seconds * 1000), int(seconds), index),
        entity=Entity.node(f"n{node}"),
        seat=Seat(node=NodeId(f"n{node}"), rack=RACK),
        fault_class="node.silent",
        verdict=Verdict(severity=Severity.CRITICAL),
        first_seen=at(seconds),
        last_seen=at(seconds),
    )


def rack_of(faults: list[Fault], members: int = 8):
    view = rack_silence.RackView(members={f"node/n{i}": 0 for i in range(members)})
    told: list[Fault] = []
    for offset, fault in enumerate(faults):
        context = Context(partition=0, offset=offset, now=fault.last_seen, classify=classifier(), topic="t")
        view, more = rack_silence.take_fault(view, RACK, fault, context)
        told += more
    return view, told


def test_three_silent_nodes_of_eight_are_one_rack_fault_that_grows_and_ends():
    faults = [silent(i, i) for i in range(4)]
    _, told = rack_of(faults)
    assert [fault.phase for fault in told] == ["raised", "updated"]
    assert told[1].children == tuple(Entity.node(f"n{i}") for i in range(4))
    assert told[1].revision > told[0].revision
    _, told = rack_of([*faults, silent(0, 0, "cleared", 1), silent(1, 1, "cleared", 1)])
    assert told[-1].phase == "cleared"
    assert len({fault.fault_id for fault in told}) == 1


def test_two_nodes_or_three_over_many_minutes_are_no_rack_fault():
    assert rack_of([silent(0, 0), silent(1, 1)])[1] == []
    assert rack_of([silent(0, 0), silent(1, 100), silent(2, 200)])[1] == []
    assert rack_of([silent(i, i) for i in range(3)], members=16)[1] == []


def test_the_same_faults_again_tell_nothing():
    faults = [silent(i, i) for i in range(4)]
    once, again = rack_of(faults), rack_of([*faults, *faults])
    assert once[1] == again[1]
