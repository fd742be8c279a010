"""The GPU's brain: faults to one incident, an incident to a claim, ended attempts up the ladder."""

from __future__ import annotations

import pytest

from gpuward.contracts.claims import Approved, AttemptEnded, AttemptResult, Claim, LifecycleMoved, Restate
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.entities import Loaded
from gpuward.contracts.identity import Entity, NodeId
from gpuward.contracts.remedies import HoldClass, Remedy
from tests.unit.decide.made import FRESH, Actor, at, fault, found, gpu, inventory, seat
from workflows.decide import gpu as brain
from workflows.decide.events import Recalled

G = gpu(1)
NODE = Entity.node("n1")


@pytest.fixture
def actor() -> Actor:
    actor = Actor(brain, G)
    actor.told(inventory(G, seat(slot=1)), t=0)
    return actor


def ended(
    actor: Actor,
    result: AttemptResult,
    *,
    attempt: int = 1,
    t: float = 100,
    remedy: Remedy | None = None,
    boot: str = "b1",
) -> None:
    rung = remedy or actor.state.claim.rung
    actor.told(
        AttemptEnded(
            plan="p", attempt=attempt, remedy=rung, result=result, node=NodeId("n1"), ended=at(t), boot_id=boot
        ),
        t=t,
    )


def phases(actor: Actor, attempt: int = 1, upto: str = "validating") -> None:
    for phase in ("draining", "repairing", "validating"):
        actor.told(LifecycleMoved(phase=phase, plan="p", attempt=attempt), t=50)
        if phase == upto:
            return


def test_a_critical_fault_becomes_one_claim_with_its_ladder_and_cause(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    (claim,) = actor.said(Claim, NODE)
    assert (claim.rung, claim.ladder, claim.attempts_left) == (
        Remedy.REBOOT_NODE,
        (Remedy.REBOOT_NODE, Remedy.POWER_CYCLE_NODE),
        3,
    )
    assert actor.edges() == ["healthy", "failed"]
    cause = actor.noted("claimed")[0].cause
    assert cause.policy == "v1"
    assert cause.evidence[0].topic == "fleet.observations.v1"


def test_a_repeated_fault_that_changes_nothing_sends_and_notes_nothing(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    assert actor.told(fault(G, 79, t=60, episode=1, phase="updated", offset=2), t=60) == []
    assert actor.told(fault(G, 79), t=61) == []


def test_a_revision_that_is_not_newer_is_ignored(actor: Actor) -> None:
    actor.told(fault(G, 79, t=5, phase="cleared", offset=9, episode=1), t=5)
    actor.told(fault(G, 79, t=1, offset=3), t=6)
    assert actor.said(Claim) == []


def test_48_63_154_are_one_incident_and_one_reset(actor: Actor) -> None:
    actor.told(fault(G, 48), fault(G, 63, t=1.2), fault(G, 154, t=1.4), t=2)
    (claim,) = actor.said(Claim)
    assert claim.rung is Remedy.RESET_GPU
    assert len(claim.fault_ids) == 3
    assert len(actor.noted("opened")) == 1


def test_79_then_154_reset_is_a_reboot_in_either_order(actor: Actor) -> None:
    actor.told(fault(G, 154), t=1)
    assert actor.said(Claim)[0].rung is Remedy.RESET_GPU
    actor.told(fault(G, 79, t=2), t=2)
    assert actor.said(Claim)[0].rung is Remedy.REBOOT_NODE


def test_31_once_is_recorded_and_disturbs_nothing(actor: Actor) -> None:
    actor.told(fault(G, 31), t=1)
    assert actor.said(Claim) == []
    assert [note.what.value for note in actor.notes if note.name == "observed"] == ["recorded"]
    assert brain.lifecycle(actor.state) == "healthy"


def test_one_cause_that_needs_a_person_wins(actor: Actor) -> None:
    actor.told(fault(G, 48), fault(G, 999, t=2), t=2)
    assert actor.said(Claim)[0].rung is Remedy.ASK_PERSON


def test_repaired_closes_the_incident_and_answers_with_an_empty_claim(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    phases(actor)
    ended(actor, AttemptResult.REPAIRED, boot="b2")
    (claim,) = actor.said(Claim)
    assert (claim.rung, claim.quarantine, claim.answered) == (None, False, ("p", 1))
    assert actor.edges() == ["healthy", "failed", "draining", "repairing", "validating", "healthy"]
    assert actor.state.sick.offences[0].result is AttemptResult.REPAIRED


def test_failed_climbs_and_then_quarantines(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    ended(actor, AttemptResult.FAILED, boot="b2")
    assert actor.said(Claim)[0].rung is Remedy.POWER_CYCLE_NODE
    assert actor.said(Claim)[0].boot_id == "b2"
    ended(actor, AttemptResult.FAILED, attempt=2, boot="b3")
    (claim,) = actor.said(Claim)
    assert (claim.rung, claim.quarantine) == (None, True)
    assert brain.lifecycle(actor.state) == "quarantined"


def test_attempts_are_bounded_by_policy_even_when_rungs_are_left(actor: Actor) -> None:
    actor.told(fault(G, 79, attempts=1), t=1)
    ended(actor, AttemptResult.FAILED)
    assert actor.said(Claim)[0].quarantine


def test_unknown_tries_the_same_rung_while_attempts_are_left(actor: Actor) -> None:
    actor.told(fault(G, 48, attempts=2), t=1)
    ended(actor, AttemptResult.UNKNOWN)
    assert actor.said(Claim)[0].rung is Remedy.RESET_GPU
    ended(actor, AttemptResult.UNKNOWN, attempt=2)
    assert actor.said(Claim)[0].quarantine


def test_accepted_without_effect_stops_the_ladder(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    ended(actor, AttemptResult.NO_EFFECT)
    (claim,) = actor.said(Claim)
    assert claim.quarantine
    assert "changed nothing" in claim.because


@pytest.mark.parametrize("result", [AttemptResult.REFUSED, AttemptResult.REVOKED])
def test_what_sent_nothing_does_not_count_but_never_loops(actor: Actor, result: AttemptResult) -> None:
    actor.told(fault(G, 79), t=1)
    for attempt in (1, 2):
        ended(actor, result, attempt=attempt, remedy=Remedy.REBOOT_NODE)
        assert actor.said(Claim)[0].rung is Remedy.REBOOT_NODE
        assert actor.said(Claim)[0].attempts_left == 3
    ended(actor, result, attempt=3, remedy=Remedy.REBOOT_NODE)
    assert actor.said(Claim)[0].quarantine


def test_an_end_told_twice_is_answered_twice_and_counts_once(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    ended(actor, AttemptResult.FAILED)
    first = actor.said(Claim)
    ended(actor, AttemptResult.FAILED, remedy=Remedy.REBOOT_NODE)
    assert actor.said(Claim) == first


def test_seen_after_the_repair_reopens_at_the_next_rung(actor: Actor) -> None:
    actor.told(fault(G, 48), t=1)
    ended(actor, AttemptResult.REPAIRED, t=100)
    actor.told(fault(G, 48, t=90, episode=1, phase="updated", offset=2), t=101)
    assert actor.said(Claim) == []
    actor.told(fault(G, 48, t=130, episode=1, phase="updated", offset=3), t=131)
    assert actor.said(Claim)[0].rung is Remedy.REBOOT_NODE


def test_cleared_before_the_act_withdraws(actor: Actor) -> None:
    actor.told(fault(G, 48), t=1)
    actor.told(fault(G, 48, t=5, episode=1, phase="cleared", offset=2), t=5)
    assert actor.said(Claim)[0].rung is None
    assert brain.lifecycle(actor.state) == "healthy"


def test_cleared_during_the_act_waits_for_the_validation(actor: Actor) -> None:
    actor.told(fault(G, 48), t=1)
    phases(actor, upto="repairing")
    actor.told(fault(G, 48, t=60, episode=1, phase="cleared", offset=2), t=60)
    assert actor.said(Claim) == []
    assert brain.lifecycle(actor.state) == "repairing"
    ended(actor, AttemptResult.FAILED, remedy=Remedy.RESET_GPU)
    assert actor.said(Claim)[0].quarantine


def test_a_fault_of_an_earlier_boot_is_recorded_only(actor: Actor) -> None:
    actor.told(inventory(G, seat(slot=1), t=50, boot="b2"), t=50)
    actor.told(fault(G, 79, t=10, boot="b1"), t=51)
    assert actor.said(Claim) == []
    assert len(actor.noted("earlier_boot")) == 1
    assert brain.lifecycle(actor.state) == "healthy"


def test_an_unknown_boot_older_than_the_known_one_is_earlier(actor: Actor) -> None:
    fresh = Actor(brain, G)
    fresh.told(inventory(G, seat(slot=1), t=50, boot="b2"), t=50)
    fresh.told(fault(G, 79, t=10, boot="b0"), t=51)
    assert fresh.said(Claim) == []


def test_a_reboot_by_others_withdraws_what_the_old_boot_claimed(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    actor.told(inventory(G, seat(slot=1), t=50, boot="b2"), t=50)
    assert actor.said(Claim)[0].rung is None


def test_our_own_reboot_does_not_withdraw_the_claim(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    phases(actor, upto="repairing")
    actor.told(inventory(G, seat(slot=1), t=60, boot="b2"), t=60)
    assert actor.said(Claim) == []


def test_late_phases_change_nothing(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    actor.told(LifecycleMoved(phase="validating", plan="p", attempt=1), t=2)
    actor.told(LifecycleMoved(phase="repairing", plan="p", attempt=1), t=3)
    assert brain.lifecycle(actor.state) == "validating"
    ended(actor, AttemptResult.REPAIRED)
    actor.told(LifecycleMoved(phase="validating", plan="p", attempt=1), t=4)
    assert brain.lifecycle(actor.state) == "healthy"


def test_a_gpu_that_moves_withdraws_at_the_old_node_and_blames_nobody_at_the_new_one(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    actor.told(inventory(G, seat("n2", 3, epoch=9), t=100, boot="x1"), t=100)
    (old,) = actor.said(Claim, NODE)
    assert old.rung is None
    assert actor.said(Claim, Entity.node("n2")) == []
    assert [note.after for note in actor.noted("reseated")] == ["n2 0000:03:00.0"]
    actor.told(fault(G, 79, t=99, offset=8, episode=1, boot="b1"), t=101)
    assert actor.said(Claim) == []


def test_an_older_seat_is_ignored(actor: Actor) -> None:
    actor.told(inventory(G, seat("n2", 3, epoch=9), t=100), t=100)
    actor.told(inventory(G, seat("n1", 1, epoch=1), t=101), t=101)
    assert actor.state.seat.node == "n2"


@pytest.mark.parametrize(
    ("node", "epoch", "lifecycle"),
    [("n1", 1, "retired"), ("n1", 7, "healthy"), ("n2", 1, "healthy"), (None, None, "healthy")],
)
def test_retiring_names_seat_and_epoch(actor: Actor, node: str | None, epoch: int | None, lifecycle: str) -> None:
    order = Directive(
        id="d1",
        order=Order.RETIRE,
        entity=G,
        person="ann",
        time=at(5),
        node=NodeId(node) if node else None,
        epoch=epoch,
    )
    actor.told(order, t=5)
    assert brain.lifecycle(actor.state) == lifecycle
    assert bool(actor.noted("retire_refused")) == (lifecycle != "retired")


def test_release_accepts_what_is_in_quarantine(actor: Actor) -> None:
    actor.told(fault(G, 79, attempts=1), t=1)
    ended(actor, AttemptResult.FAILED)
    order = Directive(id="d1", order=Order.RELEASE, entity=G, person="ann", time=at(5))
    actor.told(order, t=105)
    (claim,) = actor.said(Claim)
    assert (claim.rung, claim.quarantine) == (None, False)
    assert brain.lifecycle(actor.state) == "healthy"
    assert actor.told(order, t=106) == []


def test_cordon_and_drain_go_to_the_node(actor: Actor) -> None:
    actor.told(Directive(id="d1", order=Order.DRAIN, entity=G, person="ann", time=at(5)), t=5)
    assert actor.said(Directive, NODE)[0].entity == NODE


def test_approval_tries_the_next_rung_once_more(actor: Actor) -> None:
    actor.told(fault(G, 79, attempts=1), t=1)
    ended(actor, AttemptResult.FAILED)
    actor.told(Approved(plan="p", attempt=1, person="ann"), t=200)
    (claim,) = actor.said(Claim)
    assert (claim.rung, claim.attempts_left) == (Remedy.POWER_CYCLE_NODE, 1)
    ended(actor, AttemptResult.FAILED, attempt=2, t=300)
    assert actor.said(Claim)[0].quarantine


def test_approval_without_a_rung_accepts(actor: Actor) -> None:
    actor.told(fault(G, 999), t=1)
    ended(actor, AttemptResult.QUARANTINED)
    assert actor.said(Claim)[0].quarantine
    actor.told(Approved(plan="p", attempt=1, person="ann"), t=200)
    assert not actor.said(Claim)[0].quarantine
    assert brain.lifecycle(actor.state) == "healthy"


def test_hold_only_when_every_cause_may_be_the_racks(actor: Actor) -> None:
    actor.told(fault(G, "gpu.nvlink.down", ladder=(Remedy.RESET_GPU,), hold=HoldClass.RACK), t=1)
    assert actor.said(Claim)[0].hold is HoldClass.RACK
    actor.told(fault(G, 48, t=2), t=2)
    assert actor.said(Claim)[0].hold is HoldClass.NONE


def test_amnesiac_says_nothing_and_forgets_nothing() -> None:
    actor = Actor(brain, G, fresh=False)
    assert actor.told(inventory(G, seat(slot=1)), fault(G, 79), t=1) == []
    assert actor.told(Recalled(loaded=Loaded(status="unavailable")), t=2) == []
    assert actor.state.amnesiac
    actor.told(FRESH, t=3)
    assert actor.said(Claim)[0].rung is Remedy.REBOOT_NODE


def test_recalled_goes_on_where_it_was_with_a_newer_revision(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    old = actor.said(Claim)[0]
    ended(actor, AttemptResult.FAILED)
    again = Actor(brain, G, fresh=False)
    again.told(fault(G, 48, t=110), t=111)
    again.told(found(G, actor.state), t=112)
    (claim,) = again.said(Claim)
    assert claim.rung is Remedy.POWER_CYCLE_NODE
    assert len(claim.fault_ids) == 2
    assert claim.revision > old.revision


def test_restate_says_the_claim_again(actor: Actor) -> None:
    actor.told(fault(G, 79), t=1)
    claim = actor.said(Claim)
    actor.told(Restate(guard=NODE, id="1"), t=2)
    assert actor.said(Claim) == claim


def test_state_stays_small(actor: Actor) -> None:
    for n in range(70):
        actor.told(fault(G, f"gpu.class.{n}", t=n + 1, offset=n, ladder=(Remedy.RESET_GPU,)), t=n + 1)
    assert len(actor.state.model_dump_json()) < 20_000
