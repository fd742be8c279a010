"""What the records say after the ledger and the inventory have been folded into them, and the laws of folding."""

from __future__ import annotations

import itertools
import random

import pytest

from gpuward.console.fold import fold
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from tests.unit.console.telling import (
    GPU,
    NODE,
    RACK,
    SLOT,
    UUID,
    closed,
    edge,
    inventory,
    opened,
    outcome,
    policy,
    seat,
    stands,
)

STORY = [
    opened(1),
    edge(2, "healthy", "failed", checkpoint={"revision": 7}),
    outcome(3, OutcomeKind.DECISION, name="claimed", text="claimed reboot_node"),
    edge(4, "failed", "draining"),
    edge(5, "draining", "repairing"),
    edge(6, "repairing", "validating"),
    edge(7, "validating", "healthy"),
    closed(8, checkpoint={"revision": 9}),
]
PLACES = [
    stands(GPU, seat(epoch=100), 0),
    stands(GPU, seat("r02-n01", epoch=200), 50),
    inventory(),
    inventory(second=5),
]


def test_the_ledger_moves_the_lifecycle_and_keeps_the_newest_checkpoint():
    half = fold({}, STORY[:5])[GPU]
    assert (half.lifecycle, half.incidents, half.state) == ("repairing", ("gpu.xid.79#i1",), {"revision": 7})
    whole = fold({GPU: half}, STORY[5:])[GPU]
    assert (whole.lifecycle, whole.incidents, whole.state) == ("healthy", (), {"revision": 9})
    assert whole.summary == "repaired"
    assert whole.updated == STORY[-1].time


def test_a_checkpoint_alone_is_no_news():
    record = fold({}, [opened(1), outcome(2, OutcomeKind.CHECKPOINT, text="checkpoint", checkpoint={"a": 1})])[GPU]
    assert (record.summary, record.state) == ("gpu.xid.79: off the bus", {"a": 1})


def test_an_incident_is_closed_by_its_identity_whatever_its_root_has_become():
    told = closed(3).model_copy(update={"details": {"incident": "i1", "fault_class": "gpu.xid.48"}})
    assert fold({}, [opened(1), opened(2, "i2"), told])[GPU].incidents == ("gpu.xid.79#i2",)


def test_law_folding_again_changes_nothing():
    once = fold({}, STORY)
    again = fold(once, STORY, known={item.id for item in STORY})
    assert {**once, **again} == once
    assert fold({}, [*STORY, *STORY]) == once


def test_law_an_append_that_was_repeated_halfway_does_not_go_back():
    assert fold({}, [*STORY, *STORY[2:5]]) == fold({}, STORY)


@pytest.mark.parametrize("cut", range(len(STORY) + 1))
def test_law_where_the_batches_are_cut_does_not_matter(cut):
    records = fold({}, STORY[:cut])
    records |= fold(records, STORY[cut:])
    assert records == fold({}, STORY)


def test_law_ledger_and_inventory_may_be_read_in_any_interleaving():
    expected = fold({}, [*STORY, *PLACES])
    for seed in range(50):
        story, places, mixed = list(STORY), list(PLACES), []
        dice = random.Random(seed)
        while story or places:
            mixed.append((story if story and (not places or dice.random() < 0.5) else places).pop(0))
        assert fold({}, mixed) == expected


def test_law_inventory_may_come_in_any_order():
    changes = [
        stands(GPU, seat(epoch=100), 0),
        stands(GPU, seat(epoch=100), 9),
        stands(GPU, seat("r02-n01", epoch=200), 5),
    ]
    ends = [fold({}, order)[GPU] for order in itertools.permutations(changes)]
    assert all(end == ends[0] for end in ends)
    assert (ends[0].node, ends[0].seat_epoch) == ("r02-n01", 200)


def test_entities_without_history_are_listed_from_the_inventory():
    records = fold({}, [inventory()])
    assert set(records) == {NODE, RACK, GPU}
    gpu = records[GPU]
    assert (gpu.node, gpu.rack, gpu.slot, gpu.lifecycle) == ("r01-n01", "r01", SLOT, "healthy")


def test_a_seat_that_was_decided_beats_what_one_source_says():
    told = [stands(GPU, seat("r02-n01", epoch=200)), inventory("r01-n01", second=900)]
    assert fold({}, told)[GPU].node == "r02-n01"


def test_a_rack_knows_its_members_and_forgets_none_by_an_old_word():
    gone = stands(RACK, seat(slot=None), 20, removed=True)
    late = stands(RACK, seat(slot=None), 10)
    other = stands(RACK, seat("r01-n02", slot=None), 10)
    members = fold({}, [gone, late, other])[RACK].inventory["members"]
    assert (members["r01-n01"]["removed"], members["r01-n02"]["removed"]) == (True, False)


def test_a_pool_has_the_policy_of_the_greatest_revision():
    record = fold({}, [policy(2, "act"), policy(1, "watch")])[Entity.pool("default")]
    assert (record.inventory["revision"], record.inventory["pool"]["mode"]) == (2, "act")


def test_blindness_is_a_flag_beside_the_lifecycle():
    blind = outcome(1, OutcomeKind.DECISION, name="blind", details={"blind": True})
    seen = outcome(2, OutcomeKind.DECISION, name="seen", details={"blind": False})
    assert fold({}, [blind])[GPU].blind
    assert not fold({}, [blind, seen])[GPU].blind


def test_only_what_is_touched_comes_back():
    records = fold({}, [inventory(), *STORY])
    assert set(fold(records, [edge(9, "healthy", "failed")])) == {GPU}
    assert GPU.name == UUID
