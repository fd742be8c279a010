from gpuward.contracts.lifecycle import EDGES, Lifecycle, may_move


def test_every_state_has_a_row_and_no_edge_to_itself():
    assert set(EDGES) == set(Lifecycle)
    assert all(state not in edges for state, edges in EDGES.items())


def test_nothing_returns_to_health_from_a_repair_without_validation():
    assert not may_move(Lifecycle.REPAIRING, Lifecycle.HEALTHY)
    assert may_move(Lifecycle.VALIDATING, Lifecycle.HEALTHY)


def test_retired_is_left_only_by_a_person_or_a_new_seat():
    assert EDGES[Lifecycle.RETIRED] == {Lifecycle.HEALTHY}
