"""Laws: per-entity order under any completion order, one batch out per lane, coalescing within its bounds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuward.contracts.identity import Entity
from streams.bridge.lanes import MAX_BYTES, MAX_RECORDS, Batch, Lanes, Waiting

A, B = Entity.node("a"), Entity.node("b")
RACKS = [Entity.rack("r1"), Entity.rack("r2")]


def waiting(lane: Entity, n: int, *, size: int = 10, target: Entity | None = None) -> Waiting[int]:
    return Waiting(lane, target or lane, {"n": n}, size, n)


def numbers(batch: Batch[int] | None) -> list[int]:
    assert batch is not None
    assert [item.ticket for item in batch.items] == [message["n"] for message in batch.messages]
    return [item.ticket for item in batch.items]


def test_what_waits_for_one_entity_leaves_together() -> None:
    lanes: Lanes[int] = Lanes()
    lanes.add(waiting(A, 1))
    assert numbers(lanes.take()) == [1]
    for n in (2, 3, 4):
        lanes.add(waiting(A, n))
    assert lanes.take() is None  # one is in flight
    lanes.done(A)
    assert numbers(lanes.take()) == [2, 3, 4]
    lanes.done(A)
    assert lanes.idle


def test_entities_do_not_wait_for_each_other() -> None:
    lanes: Lanes[int] = Lanes()
    lanes.add(waiting(A, 1))
    lanes.add(waiting(B, 2))
    lanes.add(waiting(A, 3))
    assert numbers(lanes.take()) == [1, 3]
    assert numbers(lanes.take()) == [2]


def test_a_busy_entity_does_not_starve_the_others() -> None:
    lanes: Lanes[int] = Lanes(max_records=1)
    for n in range(5):
        lanes.add(waiting(A, n))
    lanes.add(waiting(B, 99))
    assert numbers(lanes.take()) == [0]
    lanes.done(A)
    assert numbers(lanes.take()) == [99]


def test_a_batch_is_for_one_actor() -> None:
    lanes: Lanes[int] = Lanes()
    domain = Entity.domain("d")
    for n, rack in enumerate((RACKS[0], RACKS[0], RACKS[1])):
        lanes.add(waiting(domain, n, target=rack))
    batch = lanes.take()
    assert numbers(batch) == [0, 1]
    assert lanes.take() is None
    lanes.done(domain)
    assert numbers(lanes.take()) == [2]


def test_a_lane_that_is_cut_keeps_its_order() -> None:
    lanes: Lanes[int] = Lanes(max_records=1)
    for n in (1, 2, 9, 3):
        lanes.add(waiting(A, n))
    lanes.add(waiting(B, 9))
    assert numbers(lanes.take()) == [1]
    lanes.cut(lambda item: item.ticket < 5)
    lanes.done(A)
    assert numbers(lanes.take()) == [2], "3 does not overtake 9"
    lanes.done(A)
    assert lanes.idle


def test_bounds_of_a_signal() -> None:
    lanes: Lanes[int] = Lanes()
    for n in range(250):
        lanes.add(waiting(A, n))
    assert len(numbers(lanes.take())) == MAX_RECORDS
    lanes.clear()
    lanes.done(A)
    for size in (MAX_BYTES // 2, MAX_BYTES // 2, 1, 5 * MAX_BYTES, 1):
        lanes.add(waiting(A, size, size=size))
    sizes = []
    while (batch := lanes.take()) is not None:
        sizes.append(numbers(batch))
        lanes.done(A)
    assert sizes == [[MAX_BYTES // 2, MAX_BYTES // 2], [1], [5 * MAX_BYTES], [1]]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_order_and_coalescing(data: st.DataObject) -> None:
    lanes: Lanes[int] = Lanes(max_records=5, max_bytes=100)
    names = [Entity.node(name) for name in "abcd"]
    delivered: dict[Entity, list[int]] = {name: [] for name in names}
    out: dict[Entity, Batch[int]] = {}
    added: dict[Entity, list[int]] = {name: [] for name in names}
    total = data.draw(st.integers(0, 60))
    for n in range(total):
        lane = data.draw(st.sampled_from(names))
        lanes.add(waiting(lane, n, size=data.draw(st.integers(1, 120)), target=data.draw(st.sampled_from(RACKS))))
        added[lane].append(n)
        for _ in range(data.draw(st.integers(0, 3))):
            if out and data.draw(st.booleans()):
                ended = data.draw(st.sampled_from(sorted(out)))
                delivered[ended] += numbers(out.pop(ended))
                lanes.done(ended)
            elif (batch := lanes.take()) is not None:
                assert batch.lane not in out, "two batches of one lane are out"
                out[batch.lane] = batch
    while out or not lanes.idle:
        while (batch := lanes.take()) is not None:
            assert batch.lane not in out
            out[batch.lane] = batch
        for batch in out.values():
            assert 1 <= len(batch.items) <= 5
            assert len(batch.items) == 1 or sum(item.size for item in batch.items) <= 100
            assert {item.target for item in batch.items} == {batch.target}
        ended = data.draw(st.sampled_from(sorted(out)))
        delivered[ended] += numbers(out.pop(ended))
        lanes.done(ended)
    assert delivered == added
