"""Law: once one record of an entity is parked, all later ones follow until every one is re-driven."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuward.contracts.identity import Entity
from streams.bridge.parked import Parked

A, B = Entity.node("a"), Entity.node("b")


def test_an_entity_is_parked_until_its_last_record_is_redriven() -> None:
    parked = Parked(tail=3)
    assert parked.position == 3
    parked.note(A, 3)
    parked.note(B, 4)
    parked.note(A, 5)
    assert (parked.holds(A), parked.position, parked.tail) == (True, 3, 6)
    parked.redriven(A, 3)
    assert (parked.holds(A), parked.position) == (True, 4)
    assert not parked.is_due(A, 3)
    assert parked.is_due(A, 5)
    parked.redriven(A, 5)
    assert (parked.holds(A), parked.position) == (False, 4)
    parked.redriven(B, 4)
    assert (parked.position, parked.entities) == (6, frozenset())


def test_noting_again_what_was_redriven_changes_nothing() -> None:
    parked = Parked()
    parked.note(A, 0)
    parked.note(A, 1)
    parked.redriven(A, 0)
    parked.note(A, 0)
    assert not parked.is_due(A, 0)
    assert parked.position == 1


def test_a_record_of_nobody_is_passed() -> None:
    parked = Parked()
    parked.passed(7)
    assert parked.position == 8
    parked.passed(-1)
    assert parked.position == 8


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([A, B]), st.booleans()), max_size=60))
def test_the_position_never_passes_a_parked_record(steps: list[tuple[Entity, bool]]) -> None:
    parked, waiting, offset = Parked(), {A: [], B: []}, 0
    for entity, park in steps:
        if park:
            parked.note(entity, offset)
            waiting[entity].append(offset)
            offset += 1
        elif waiting[entity]:
            parked.redriven(entity, waiting[entity].pop(0))
        for each, its in waiting.items():
            assert parked.holds(each) == bool(its)
            assert all(parked.is_due(each, at) for at in its)
        open_ = [at for its in waiting.values() for at in its]
        assert parked.position <= min(open_, default=offset)
        assert open_ or parked.position == offset
