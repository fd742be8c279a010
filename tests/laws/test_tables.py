"""The four tables are held to one another; the table of actions to its implementations in tests/unit/activities."""

import re

from gpuward.contracts.actions import ACTIONS, Effect
from gpuward.contracts.actors import ACTORS
from gpuward.contracts.metrics import METRICS
from gpuward.contracts.topics import PARTITIONS, TOPICS


def test_law_every_irreversible_action_has_one_attempt_and_a_start_deadline():
    rows = [row for row in ACTIONS.values() if row.effect is Effect.IRREVERSIBLE]
    assert rows
    assert all(row.attempts == 1 and row.schedule_to_start_s and row.undo is None for row in rows)


def test_law_every_reversible_action_names_an_undo_that_exists():
    rows = [row for row in ACTIONS.values() if row.effect is Effect.REVERSIBLE]
    assert rows
    assert all(row.undo in ACTIONS for row in rows)


def test_law_every_topic_has_one_owner_and_a_version():
    assert all(row.owner and re.fullmatch(r"fleet\.[a-z-]+\.v\d+", name) for name, row in TOPICS.items())


def test_law_topics_bound_for_actors_share_one_partition_count_and_are_keyed_by_entity():
    rows = [row for row in TOPICS.values() if row.for_actors]
    assert {row.partitions for row in rows} == {PARTITIONS}
    assert {row.key for row in rows} == {"entity"}


def test_law_actors_read_only_topics_that_are_bound_for_actors():
    named = {topic for actor in ACTORS.values() for topic in actor.topics}
    assert named == {name for name, row in TOPICS.items() if row.for_actors}


def test_metric_names_follow_prometheus():
    for name, row in METRICS.items():
        assert name.startswith("gpuward_")
        assert (row.kind == "counter") == name.endswith("_total")
