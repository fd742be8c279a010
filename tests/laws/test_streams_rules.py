"""Laws of the stream rules, over generated bursts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuward.contracts.observations import ObservationBatch
from tests.unit.streams.making import Node, batch, recovery, sample, xid

CODES = [13, 31, 43, 45, 48, 63, 64, 74, 79, 94, 95, 109, 119, 140, 171, 999]


@st.composite
def bursts(draw):
    """Lines of two GPUs within five seconds, each with its own kernel sequence; at most one recovery action."""
    count = draw(st.integers(1, 10))
    lines = [
        xid(draw(st.sampled_from(CODES)), 1 + index / 10, seq=index, device=draw(st.integers(0, 1)))
        for index in range(count)
    ]
    if draw(st.booleans()):
        lines.append(recovery(0, draw(st.sampled_from([1, 2, 4])), 1 + count / 10, seq=count))
    return lines


def end(node: Node) -> dict[tuple[str, str], tuple[object, ...]]:
    """What stands at the end: entity and class → what is asked, by whom, for which recovery action."""
    newest = {fault.fault_id: fault for fault in node.faults}
    return {
        (str(fault.entity), fault.fault_class): (fault.verdict.remedy, fault.recovery_action)
        for fault in newest.values()
        if fault.phase != "cleared"
    }


def chunks(draw_sizes: list[int], lines: list) -> list[ObservationBatch]:
    cut, rest = [], list(lines)
    for size in draw_sizes:
        if rest:
            cut.append(batch(*rest[:size]))
            rest = rest[size:]
    return [*cut, batch(*rest)] if rest else cut


@given(bursts(), st.lists(st.integers(1, 4), max_size=8))
@settings(max_examples=150, deadline=None)
def test_idempotent_a_batch_fed_twice_gives_no_new_fault(lines, sizes):
    """Law: a batch fed twice gives no new fault."""
    node = Node()
    given_batches = chunks(sizes, lines)
    for one in given_batches:
        node.take(one)
    told = len(node.faults)
    view = node.view
    for one in given_batches:
        node.take(one)
    assert len(node.faults) == told
    assert node.view.open == view.open


@given(bursts(), st.lists(st.integers(1, 4), max_size=8), st.lists(st.integers(1, 4), max_size=8))
@settings(max_examples=150, deadline=None)
def test_rechunking_the_same_observations_ends_in_the_same_faults(lines, first, second):
    """Law: the same observations cut into other batches end in the same faults."""
    one, other = Node(), Node()
    for given_batch in chunks(first, lines):
        one.take(given_batch)
    for given_batch in chunks(second, lines):
        other.take(given_batch)
    assert end(one) == end(other)


@given(bursts(), st.lists(st.integers(1, 4), max_size=8), st.lists(st.integers(1, 4), max_size=8))
@settings(max_examples=100, deadline=None)
def test_rereading_in_other_batches_after_a_restart_is_no_news(lines, first, second):
    """Law: an observation fed twice is news once, however the second reading is cut into batches."""
    node = Node()
    for given_batch in chunks(first, lines):
        node.take(given_batch)
    told = len(node.faults)
    for given_batch in chunks(second, lines):
        node.take(given_batch)
    assert len(node.faults) == told


@given(bursts(), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_order_inside_a_burst_does_not_matter_for_its_end(lines, random):
    """Law: the order inside a burst does not matter for its end."""
    shuffled = list(lines)
    random.shuffle(shuffled)
    one, other = Node(), Node()
    for line in lines:
        one.take(batch(line))
    for line in shuffled:
        other.take(batch(line))
    assert end(one) == end(other)


@given(bursts())
@settings(max_examples=100, deadline=None)
def test_every_raise_ends_and_revisions_rise(lines):
    """Law: no fault is lost: what was raised stands or was cleared once, and nothing comes after its clear."""
    node = Node()
    for line in lines:
        node.take(batch(line))
    node.take(batch(sample(100, boot="boot-2", session={0: "x", 1: "x"}), boot="boot-2"))
    node.take(batch(sample(20_000, boot="boot-2", session={0: "x", 1: "x"}), boot="boot-2"))
    assert node.view.open == {}
    for fault_id in {fault.fault_id for fault in node.faults}:
        told = [fault for fault in node.faults if fault.fault_id == fault_id]
        assert told[0].phase == "raised"
        assert told[-1].phase == "cleared"
        assert [fault.phase for fault in told[1:-1]] == ["updated"] * (len(told) - 2)
        assert [fault.revision for fault in told] == sorted(fault.revision for fault in told)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 300)), min_size=1, max_size=300))
@settings(max_examples=50, deadline=None)
def test_a_storm_of_45_tells_nothing_and_leaves_the_view_small(lines):
    """Law: the rate of Xid 45 alone never opens an incident."""
    node = Node()
    for index, (device, second) in enumerate(lines):
        node.take(batch(xid(45, second, seq=index, device=device)))
    assert node.faults == []
    assert len(node.view.to_json()) < 20_000
