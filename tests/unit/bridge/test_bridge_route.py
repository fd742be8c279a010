"""Each record finds its actor by the tables, or a reason why it finds none."""

from __future__ import annotations

import orjson
import pytest

from gpuward.contracts.actors import ACTORS
from gpuward.contracts.envelope import REROUTED
from gpuward.contracts.identity import EntityKind
from gpuward.contracts.messages import MESSAGE
from gpuward.contracts.topics import DIRECTIVES, FAULTS, PARTITIONS, POLICY, TOPICS
from streams.bridge.route import SOURCE, Misplaced, Routed, Tombstone, Unroutable, address, route


def test_every_topic_for_actors_has_a_model_that_names_kind_and_entity() -> None:
    rows = [row for row in TOPICS.values() if row.for_actors]
    assert rows
    for row in rows:
        assert row.model is not None
        assert {"kind", "entity"} <= set(row.model.model_fields)
        assert row.rule == "key"
        assert row.partitions == PARTITIONS == TOPICS["fleet.parked.v1"].partitions


@pytest.mark.parametrize("entity", ["node/n1", "gpu/GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "rack/r1"])
def test_an_entity_with_an_actor_is_told_itself(log, make_fault, entity: str) -> None:
    routed = route(log(FAULTS, entity.encode(), make_fault(entity, a_new_field=1)))
    assert isinstance(routed, Routed)
    assert routed.lane == routed.target == entity
    assert routed.message["a_new_field"] == 1, "fields that we do not know are kept"
    assert routed.message[SOURCE]["offset"] == 7
    assert MESSAGE.validate_python(routed.message).kind == "fault", "the source is harmless to a reader"


@pytest.mark.parametrize("entity", ["domain/d1", "nvswitch/n1/0000:0a:00.0"])
def test_the_rack_speaks_for_what_has_no_actor(log, make_fault, entity: str) -> None:
    routed = route(log(FAULTS, entity.encode(), make_fault(entity)))
    assert isinstance(routed, Routed)
    assert (routed.lane, routed.target) == (entity, "rack/r1")
    without = route(log(FAULTS, entity.encode(), make_fault(entity, rack=None)))
    assert isinstance(without, Unroutable)
    assert without.reason == "no-actor"


def test_every_actor_is_reached_by_the_topics_of_its_row(log, make_fault) -> None:
    assert set(ACTORS) == {EntityKind.GPU, EntityKind.NODE, EntityKind.RACK, EntityKind.POOL}
    pool = route(log(FAULTS, b"pool/p", make_fault("pool/p")))
    assert isinstance(pool, Unroutable), "a pool guard takes no faults"
    assert pool.reason == "no-actor"


def test_a_record_on_the_wrong_partition_is_rerouted_once(log, make_fault) -> None:
    right = log(FAULTS, b"node/n1", make_fault()).partition
    wrong = (right + 1) % PARTITIONS
    assert route(log(FAULTS, b"node/n1", make_fault(), partition=wrong)) == Misplaced(right)
    again = log(FAULTS, b"node/n1", make_fault(), partition=wrong, headers=[(REROUTED, b"1")])
    assert isinstance(route(again), Routed)


@pytest.mark.parametrize(
    ("key", "value", "reason", "said"),
    [
        (None, b"{}", "key", "no key"),
        (b"node/n1", None, "value", "no value"),
        (b"node/n1", b'{"kind": "fault", "ph', "value", "not a Fault"),
        (b"node/n1", b"\xff\xfe", "value", "not a Fault"),
        (b"node/n1", b"[1]", "value", "not a Fault"),
        (b"node/n1", b"{}", "value", "not a Fault"),
    ],
)
def test_garbage_has_a_reason(log, key, value, reason, said) -> None:
    found = route(log(FAULTS, key, value))
    assert isinstance(found, Unroutable)
    assert found.reason == reason
    assert said in found.text


def test_key_and_entity_must_agree(log, make_fault) -> None:
    found = route(log(FAULTS, b"node/n2", make_fault("node/n1")))
    assert isinstance(found, Unroutable)
    assert (found.reason, found.text) == ("key", "the key is 'node/n2' and the record is about node/n1")


def test_an_unknown_kind_and_wrong_types_are_refused_with_the_place(log, make_fault) -> None:
    for more, place in (
        ({"kind": "frobnicated"}, "kind"),
        ({"entity": "planet/mars"}, "entity"),
        ({"count": "x"}, "count"),
    ):
        found = address(
            log(FAULTS, b"node/n1", make_fault(**more))
            if "entity" not in more
            else log(FAULTS, b"planet/mars", orjson.dumps(orjson.loads(make_fault()) | more))
        )
        assert isinstance(found, Unroutable)
        assert place in found.text


def test_the_kind_is_on_every_message_though_a_writer_left_it_out(log) -> None:
    value = {"id": "d", "order": "cordon", "entity": "node/n1", "person": "ann", "time": "2026-01-01T00:00:00Z"}
    routed = route(log(DIRECTIVES, b"node/n1", orjson.dumps(value)))
    assert isinstance(routed, Routed)
    assert routed.message["kind"] == "directive"


def test_a_tombstone_of_a_compacted_topic_is_nothing_to_tell(log) -> None:
    assert route(log(POLICY, b"pool/p", None)) == Tombstone()
