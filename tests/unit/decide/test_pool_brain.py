"""The pool guard's brain by itself: budgets, tokens, begin, stop, loss of memory; and the pure tables beside it."""

from __future__ import annotations

import pytest

from gpuward.contracts.claims import Ask, Denied, Granted, Plan, Queued, RackAvailability, Restate, SlotReleased, Token
from gpuward.contracts.identity import DomainId, Entity, NodeId, PoolId, RackId
from gpuward.contracts.lifecycle import EDGES, Lifecycle
from gpuward.contracts.outcomes import Cause
from gpuward.contracts.remedies import Remedy
from gpuward.contracts.updates import Begin, Stop
from tests.unit.decide.made import Actor, at, found, policy, seat, verdict
from workflows.decide import edges, fsm, ladder
from workflows.decide import pool as brain
from workflows.decide.boots import Boots
from workflows.decide.fsm import GuardEvent, GuardState

P = Entity.pool("p1")
LEVELS = {"r1": ("n1", "n2", "n3"), "r2": ("n4", "n5")}


def level(rack: str = "r1", revision: int = 1, away: tuple[str, ...] = (), **more: object) -> RackAvailability:
    members = tuple(NodeId(node) for node in LEVELS[rack])
    return RackAvailability(
        rack=RackId(rack), pool=PoolId("p1"), revision=revision, members=members,
        unavailable={NodeId(node): "test" for node in away},
        domains={node: (DomainId("d"),) for node in members}, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def ask(
    node: str = "n1",
    plan: str = "a",
    attempt: int = 1,
    *,
    rack: str = "r1",
    order: int = 1,
    priority: int = 3,
    **more: object,
) -> Ask:
    said = Plan(
        plan=plan, revision=order, node=NodeId(node), seat=seat(node, rack=rack), boot_id="b1", remedy=Remedy.REBOOT_NODE,
        attempt=attempt, priority=priority, **more,  # type: ignore[arg-type]
    )  # fmt: skip
    return Ask(plan=said, availability=level(rack, order))


def guard(**budget: object) -> Actor:
    actor = Actor(brain, P)
    actor.told(policy(**budget), level("r1", 0), level("r2", 0), t=0)
    return actor


def begin(
    actor: Actor,
    *,
    token: Token | None = None,
    act: str = "node.reboot",
    t: float = 10,
    boot: str = "b1",
    attempt: int = 1,
) -> str:
    asked = Begin(
        node=NodeId("n1"),
        plan="a",
        attempt=attempt,
        token=token or actor.state.slots["n1"].token,
        boot_id=boot,
        act=act,
    )
    actor.state, answer, _ = brain.begin(actor.state, asked, at(t))
    return answer.reason or answer.verdict


def test_asking_again_returns_the_same_answer() -> None:
    actor = guard()
    actor.told(ask(), t=1)
    first = actor.said(Granted)
    actor.told(ask(), t=2)
    assert actor.said(Granted) == first != []


def test_another_plan_of_a_charged_node_is_answered_with_the_open_one() -> None:
    actor = guard(concurrent=5)
    actor.told(ask(), t=1)
    actor.told(ask(plan="b", order=2), t=2)
    (denied,) = actor.said(Denied)
    assert (denied.open_plan, denied.open_attempt) == ("a", 1)
    assert len(actor.state.slots) == 1


@pytest.mark.parametrize(
    ("budget", "second", "word"),
    [
        ({"concurrent": 1, "per_rack": 9, "per_domain": 9}, ask("n4", "b", rack="r2"), "pool's budget"),
        ({"concurrent": 9, "per_rack": 1, "per_domain": 9}, ask("n2", "b", order=2), "per rack"),
        ({"concurrent": 9, "per_rack": 9, "per_domain": 1}, ask("n2", "b", order=2), "per NVLink domain"),
        ({"concurrent": 9, "per_rack": 9, "per_domain": 9, "floor_pct": 75}, ask("n2", "b", order=2), "floor"),
        ({"concurrent": 0}, None, "allows none"),
    ],
)
def test_each_budget_says_in_words_why_it_waits(budget: dict[str, object], second: Ask | None, word: str) -> None:
    actor = guard(**budget)
    actor.told(ask(), t=1)
    if second is not None:
        assert actor.said(Granted)
        actor.told(second, t=2)
    assert word in actor.said(Queued)[0].reason
    assert len(actor.state.slots) == (1 if second else 0)


def test_a_node_that_is_unavailable_already_does_not_touch_the_floor() -> None:
    actor = guard(floor_pct=100)
    actor.told(level("r1", 5, away=("n1",)), t=1)
    actor.told(Ask(plan=ask().plan, availability=level("r1", 6, away=("n1",))), t=2)
    assert actor.said(Granted)


def test_the_most_urgent_is_served_first_when_budget_frees() -> None:
    actor = guard()
    actor.told(ask(), t=1)
    actor.told(ask("n2", "b", order=2, priority=4), t=2)
    actor.told(ask("n4", "c", rack="r2", priority=2), t=3)
    actor.told(SlotReleased(node=NodeId("n1"), plan="a"), t=4)
    assert [granted.plan for granted in actor.said(Granted)] == ["c"]


def test_the_next_attempt_gets_a_new_token_on_the_same_slot() -> None:
    actor = guard()
    actor.told(ask(), t=1)
    first = actor.said(Granted)[0]
    actor.told(ask(attempt=2, order=2), t=2)
    second = actor.said(Granted)[0]
    assert second.token > first.token
    assert list(actor.state.slots) == ["n1"]
    assert begin(actor, token=first.token).startswith("token")


def test_late_asks_change_nothing() -> None:
    actor = guard()
    actor.told(ask(order=5), t=1)
    actor.told(SlotReleased(node=NodeId("n1"), plan="a"), t=2)
    actor.told(ask(order=5), t=3)
    actor.told(ask(plan="b", order=3), t=4)
    assert actor.state.slots == {}


def test_begin_checks_everything_and_once() -> None:
    actor = guard(limits={"act_within_s": 100})
    actor.told(ask(), t=1)
    assert begin(actor, token=Token(1, 1)).startswith("token")
    assert begin(actor, boot="b0").startswith("boot")
    assert begin(actor, attempt=2).startswith("token")
    assert begin(actor, t=200).startswith("deadline")
    assert begin(actor) == "begun"
    assert begin(actor).startswith("again")
    assert begin(actor, act="node.evict") == "begun"


def test_a_stop_refuses_begin_and_grants_nothing() -> None:
    actor = guard(concurrent=2, per_rack=2, per_domain=2)
    actor.told(ask(), t=1)
    actor.state, answer, _ = brain.stop(actor.state, Stop(person="ann"), at(2))
    assert answer.stopped
    assert begin(actor).startswith("stop")
    actor.told(ask("n2", "b", order=2), t=3)
    assert "stopped by ann" in actor.said(Queued)[0].reason


def test_an_amnesiac_guard_refuses_and_remembers_a_stop() -> None:
    actor = Actor(brain, P, fresh=False)
    assert actor.told(policy(), ask(), t=1) == []
    actor.state, answer, decisions = brain.stop(actor.state, Stop(person="ann"), at(2))
    assert answer.stopped
    assert decisions == []
    asked = Begin(node=NodeId("n1"), plan="a", attempt=1, token=Token(1, 1), boot_id="b1", act="x")
    assert brain.begin(actor.state, asked, at(3))[1].reason.startswith("amnesia")
    actor.told(found(P, guard().state), t=4)
    assert actor.state.stop is not None
    assert actor.noted("stopped")


def test_a_reloaded_guard_asks_its_racks_and_waits() -> None:
    old = guard(concurrent=2, per_rack=2, per_domain=2)
    old.told(ask(), t=1)
    token = old.state.slots["n1"].token
    actor = Actor(brain, P, fresh=False)
    actor.told(found(P, old.state), t=10)
    assert {message.id for message in actor.said(Restate)} == {str(actor.state.epoch)}
    actor.told(ask("n2", "b", order=2), t=11)
    assert "every rack" in actor.said(Queued)[0].reason
    epoch = str(actor.state.epoch)
    actor.told(level("r1", 8, restated=True, restate="1"), t=11)
    assert actor.state.restating == ["r1", "r2"]
    tokens = {NodeId("n3"): ("c", 2, Token(5, 5)), NodeId("n1"): ("a", 1, token)}
    actor.told(
        level("r1", 9, restated=True, restate=epoch, tokens=tokens), level("r2", 9, restated=True, restate=epoch), t=12
    )
    assert set(actor.state.slots) == {"n1", "n3"}
    assert actor.state.line != {}
    assert begin(actor, token=token).startswith("token")


def test_a_reloaded_guard_stops_waiting_after_the_longest_token() -> None:
    old = guard(limits={"act_within_s": 100})
    actor = Actor(brain, P, fresh=False)
    actor.told(found(P, old.state), t=10)
    actor.told(ask(), t=11)
    assert actor.state.slots == {}
    assert brain.next_wake(actor.state) == at(110)
    actor.told(t=111)
    assert list(actor.state.slots) == ["n1"]


def test_an_older_policy_is_ignored() -> None:
    actor = guard()
    actor.told(policy(7, concurrent=3), t=1)
    actor.told(policy(6, concurrent=9), t=2)
    assert actor.state.policy.budget.concurrent == 3


def test_fsm_table() -> None:
    assert fsm.after(GuardState.CLOSED, GuardEvent.TRIPPED) is GuardState.OPEN
    assert fsm.after(GuardState.OPEN, GuardEvent.COOLED_DOWN) is GuardState.HALF_OPEN
    assert fsm.after(GuardState.HALF_OPEN, GuardEvent.PROBE_FAILED) is GuardState.OPEN
    assert fsm.after(GuardState.CLOSED, GuardEvent.COOLED_DOWN) is GuardState.CLOSED
    assert [fsm.may_grant(state, 1) for state in GuardState] == [True, False, False]
    assert fsm.may_grant(GuardState.HALF_OPEN, 0)


@pytest.mark.parametrize("before", list(Lifecycle))
@pytest.mark.parametrize("after", list(Lifecycle))
def test_moves_take_only_edges_of_the_table(before: Lifecycle, after: Lifecycle) -> None:
    out: list = []
    end = edges.move(before, after, out, Cause())
    steps = [(Lifecycle(note.before), Lifecycle(note.after)) for note in out]
    assert all(there in EDGES[here] for here, there in steps)
    assert end in (before, after)
    assert not out or steps[-1][1] is end is after


def test_ladder_climbs_to_a_person_last() -> None:
    rungs = [verdict((Remedy.RESET_GPU, Remedy.REBOOT_NODE, Remedy.ASK_PERSON))]
    tried = [None, Remedy.RESET_GPU, Remedy.REBOOT_NODE]
    assert [ladder.next_rung(rungs, rung, asked=False) for rung in tried] == list(rungs[0].ladder)
    assert ladder.next_rung(rungs, Remedy.REBOOT_NODE, asked=True) is None


def test_a_verdict_starts_where_it_says() -> None:
    rungs = [verdict((Remedy.RESET_GPU, Remedy.REBOOT_NODE, Remedy.POWER_CYCLE_NODE), start=1)]
    assert ladder.next_rung(rungs, None, asked=False) is Remedy.REBOOT_NODE


def test_boots_only_move_forward() -> None:
    boots = Boots()
    assert boots.learn("b1", at(0))
    assert boots.learn("b2", at(50))
    assert not boots.learn("b1", at(99))
    assert not boots.learn("b0", at(10))
    assert (boots.current, boots.is_earlier("b0"), boots.is_earlier("b3")) == ("b2", True, False)
