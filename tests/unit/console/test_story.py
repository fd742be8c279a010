from __future__ import annotations

from gpuward.console.live.demo import verdict, victim
from gpuward.console.live.journey import STAGES, newest
from gpuward.console.story import lines, plans_of
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Cause, OutcomeKind
from tests.unit.console.telling import GPU, NODE, closed, edge, opened, outcome, record

PLAN = Cause(plan="p1", attempt=1, fault_ids=("f1",))


def told(*outcomes):
    return [(item, 3, offset) for offset, item in enumerate(outcomes)]


def test_a_story_is_told_in_the_order_of_what_happened_and_each_thing_once():
    late, early = edge(9, "failed", "draining"), opened(1)
    story = lines(told(late, early, early))
    assert [line.outcome.id for line in story] == [early.id, late.id]


def test_of_one_moment_the_order_is_the_workflows_own():
    at_once = [outcome(number, OutcomeKind.DECISION, second=5, name=f"d{number}") for number in (10, 9, 11)]
    assert [line.outcome.name for line in lines(told(*at_once))] == ["d9", "d10", "d11"]


def test_a_line_says_where_its_evidence_lies():
    document = lines(told(opened(1)))[0].as_document()
    assert document["evidence"][0]["topic"] == "fleet.observations.v1"
    assert (document["evidence"][0]["partition"], document["evidence"][0]["offset"]) == (3, 41)
    assert document["ledger"] == {"topic": "fleet.outcomes.v1", "partition": 3, "offset": 0}


def test_the_plans_of_a_story_are_named_once():
    assert plans_of(told(outcome(1, OutcomeKind.STEP, cause=PLAN), outcome(2, OutcomeKind.STEP, cause=PLAN))) == ["p1"]


def test_a_journey_is_as_far_as_the_ledger_says():
    steps = [
        opened(1),
        outcome(2, OutcomeKind.DECISION, name="granted", entity=NODE, cause=PLAN),
        outcome(3, OutcomeKind.STEP, name="cordon", result="done", entity=NODE, cause=PLAN),
    ]
    journey = newest(steps)
    assert journey is not None
    assert journey.entity == GPU
    assert STAGES[journey.current][0] == "cordon"
    home = newest([*steps, edge(9, "validating", "healthy", entity=NODE, cause=PLAN)])
    assert home is not None
    assert home.ended


def test_what_happens_to_another_node_is_not_part_of_the_journey():
    elsewhere = outcome(2, OutcomeKind.STEP, name="validate", entity=Entity.node("x"), cause=Cause(plan="p9"))
    journey = newest([opened(1), elsewhere])
    assert journey is not None
    assert STAGES[journey.current][0] == "incident"


def test_without_an_incident_there_is_no_journey():
    assert newest([outcome(1, OutcomeKind.BORN)]) is None


def well(**more):
    return [record(GPU, node=NODE.name, **more), record(NODE)]


def test_repaired_means_closed_as_repaired_with_gpu_and_node_healthy():
    assert verdict(GPU, well(), [opened(1)]) is None
    assert verdict(GPU, well(), [opened(1), closed(2)]) == "repaired"
    assert verdict(GPU, well(lifecycle="validating"), [opened(1), closed(2)]) is None
    assert verdict(GPU, well(incidents=("x#1",)), [opened(1), closed(2)]) is None


def test_what_was_not_repaired_says_why():
    assert verdict(GPU, well(), [opened(1), closed(2, result="accepted")]) == "accepted"
    assert verdict(GPU, well(lifecycle="quarantined"), [opened(1)]) == f"{GPU} is quarantined"


def test_the_script_breaks_a_node_in_the_middle():
    assert victim(["r01-n01", "r01-n02", "r02-n01", "r02-n02"]) == ("r02-n01", 3)
