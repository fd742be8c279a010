"""Law: contiguity. A commit never passes a record that was read and not acknowledged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.bridge.offsets import Progress


def test_nothing_is_committed_before_something_was_read() -> None:
    assert Progress().position is None
    assert Progress().oldest_s is None


def test_the_position_waits_for_the_first_open_record() -> None:
    progress = Progress()
    for offset in (5, 6, 9):  # a compacted log has holes
        progress.begin(offset, time_s=offset * 10.0, size=100)
    progress.acknowledge(9)
    progress.acknowledge(6)
    assert (progress.position, progress.outstanding, progress.held, progress.oldest_s) == (5, 1, 3, 50.0)
    assert progress.outstanding_bytes == 100
    progress.acknowledge(5)
    assert (progress.position, progress.outstanding, progress.held, progress.oldest_s) == (10, 0, 0, None)


def test_what_is_not_open_cannot_be_acknowledged() -> None:
    progress = Progress()
    progress.begin(5)
    for wrong in (4, 6):
        with pytest.raises(ValueError, match="not open"):
            progress.acknowledge(wrong)
    progress.acknowledge(5)
    with pytest.raises(ValueError, match="not open"):
        progress.acknowledge(5)
    with pytest.raises(ValueError, match="was read after"):
        progress.begin(5)


def test_fill_is_measured_against_the_nearest_bound() -> None:
    progress = Progress()
    for offset in range(4):
        progress.begin(offset, size=100)
    for offset in (1, 2, 3):
        progress.acknowledge(offset)
    assert progress.fill(10, 10_000, 4) == 1.0
    assert progress.fill(10, 100, 400) == 1.0
    assert progress.fill(2, 10_000, 400) == 0.5


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_contiguity(data: st.DataObject) -> None:
    progress = Progress()
    offsets = sorted(data.draw(st.sets(st.integers(0, 200), min_size=1, max_size=40)))
    unread, open_, acknowledged = list(offsets), [], set()
    while unread or open_:
        if unread and (not open_ or data.draw(st.booleans())):
            progress.begin(unread[0])
            open_.append(unread.pop(0))
        else:
            done = data.draw(st.sampled_from(open_))
            open_.remove(done)
            acknowledged.add(done)
            progress.acknowledge(done)
        position = progress.position
        assert position is not None
        read = [offset for offset in offsets if offset not in unread]
        assert all(offset in acknowledged for offset in read if offset < position)
        assert position == (min(open_) if open_ else max(read) + 1)
        assert progress.outstanding == len(open_)
    assert progress.position == offsets[-1] + 1
