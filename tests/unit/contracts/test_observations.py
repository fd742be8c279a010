from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gpuward.contracts.observations import ObservationBatch, OtherObservation, XidLogged, observation_id

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_unknown_kinds_and_fields_are_kept():
    text = ObservationBatch(node="n1", boot_id="b", seq=1, time=NOW).model_dump(mode="json")
    text["observations"] = [
        {"kind": "fan_stopped", "id": "1", "time": NOW.isoformat(), "rpm": 0},
        {"kind": "xid", "id": "2", "time": NOW.isoformat(), "code": 79, "colour": "red"},
    ]
    unknown, xid = ObservationBatch.model_validate(text).observations
    assert isinstance(unknown, OtherObservation)
    assert unknown.model_dump()["rpm"] == 0
    assert isinstance(xid, XidLogged)
    assert xid.model_dump()["colour"] == "red"


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4))
def test_ids_are_deterministic_and_do_not_mix_their_parts(parts):
    assert observation_id(*parts) == observation_id(*parts)
    assert observation_id(*parts) != observation_id(*parts, "")
