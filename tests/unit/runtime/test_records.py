from datetime import UTC, datetime

import pytest

from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.outcomes import Cause, Outcome, OutcomeKind
from gpuward.runtime.records import Records

NODE = Entity.node("n1")


@pytest.fixture
def records(tmp_path):
    store = Records(f"sqlite:///{tmp_path / 'r.sqlite'}")
    store.create()
    yield store
    store.close()


def outcome(number, plan=None):
    at = datetime(2026, 3, 2, 9, 0, number, tzinfo=UTC)
    return Outcome(id=f"o{number}", entity=NODE, time=at, what=OutcomeKind.DECISION, cause=Cause(plan=plan))


async def test_what_is_folded_is_found_again_with_its_position(records):
    record = EntityRecord(entity=NODE, entity_kind=EntityKind.NODE, lifecycle="failed")
    await records.fold([record], [(outcome(1, "p1"), 3, 40), (outcome(2), 3, 41)], {("t", 3): 42})
    assert await records.entity(NODE) == record
    assert await records.entities("node") == [record]
    assert [(o.id, p, at) for o, p, at in await records.outcomes(["node/n1"])] == [("o1", 3, 40), ("o2", 3, 41)]
    assert [o.id for o, *_ in await records.outcomes(plans=["p1"])] == ["o1"]
    assert await records.positions("t") == {3: 42}


async def test_folding_again_changes_nothing(records):
    for _ in range(2):
        await records.fold([], [(outcome(1), 0, 7)], {("t", 0): 8})
    assert len(await records.outcomes()) == 1


async def test_nothing_is_known_of_a_stranger(records):
    assert await records.entity(Entity.node("stranger")) is None


async def test_records_that_do_not_answer_are_transient(tmp_path):
    absent = Records(f"sqlite:///{tmp_path / 'no-table.sqlite'}")
    with pytest.raises(Transient):
        await absent.entity(NODE)
    absent.close()
