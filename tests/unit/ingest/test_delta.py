from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gpuward.contracts.observations import NodeSample
from ingest.delta import FULL_EVERY, DeltaEncoder, apply, delta

NOW = datetime(2026, 1, 2, tzinfo=UTC)
UUID = "GPU-00000000-0000-0000-0000-000000000001"


def sample(at: float = 0, boot: str = "b", **columns) -> NodeSample:
    time = NOW + timedelta(seconds=at)
    return NodeSample(
        id=f"s{at}", time=time, boot_id=boot, full=True, slots=("0000:3b:00.0",), gpus=(UUID,),
        columns=columns, node={"uptime_s": at},
    )  # fmt: skip


def test_the_default_period():
    assert timedelta(seconds=60) == FULL_EVERY


def test_only_what_changed_is_left():
    change = delta(sample(0, power_w=[300.0], session=["a"]), sample(10, power_w=[310.0], session=["a"]))
    assert change is not None
    assert not change.full
    assert change.columns == {"power_w": [310.0]}
    assert change.node == {"uptime_s": 10}
    assert change.slots == change.gpus == ()


def test_what_only_a_full_sample_can_say():
    first = sample(0, power_w=[300.0], session=["a"])
    assert delta(first, sample(10, power_w=[300.0])) is None
    assert delta(first, sample(10, boot="c", power_w=[300.0], session=["a"])) is None


values = st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(0, 2), min_size=1, max_size=1), min_size=1)


@given(st.lists(values, min_size=1, max_size=10))
def test_the_deltas_rebuild_every_sample(columns):
    encoder = DeltaEncoder()
    state: NodeSample | None = None
    for number, values_ in enumerate(columns):
        current = sample(number * 10, **values_)
        sent = encoder.encode(current)
        state = sent if state is None else apply(state, sent)
        assert state == current


def test_full_at_first_then_every_minute_and_when_asked():
    encoder = DeltaEncoder()
    full = [encoder.encode(sample(at, power_w=[1.0])).full for at in range(0, 130, 10)]
    assert [at * 10 for at, is_full in enumerate(full) if is_full] == [0, 60, 120]
    assert encoder.encode(sample(130, power_w=[1.0]), full=True).full


def test_a_delta_passes_and_the_next_is_full():
    encoder = DeltaEncoder()
    encoder.encode(sample(0))
    thin = sample(10).model_copy(update={"full": False})
    assert encoder.encode(thin) is thin
    assert encoder.encode(sample(20)).full
