"""The four brains on one bus: whole stories, as the ledger tells them."""

from __future__ import annotations

import pytest

from gpuward.contracts.claims import AttemptResult
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.identity import FLEET, Entity, NodeId
from gpuward.contracts.remedies import HoldClass, Remedy, Severity
from gpuward.contracts.updates import Approve, Reject, Resume, Stop, WriteOff
from tests.unit.decide.bus import World, world
from tests.unit.decide.made import at, fault, gpu, inventory, policy, seat
from workflows.decide import fleet, node, pool
from workflows.decide.events import PersonSaid
from workflows.decide.node_state import Status

N1, N2, POOL, R1 = Entity.node("n1"), Entity.node("n2"), Entity.pool("p1"), Entity.rack("r1")


def strike(w: World, n: int, code: int = 79, **more: object) -> None:
    name = f"n{(n - 1) // 2 + 1}"
    where = seat(name, n % 30, rack=w.states[Entity.node(name)].seat.rack)
    w.clock += 1
    w.tell(gpu(n), fault(gpu(n), code, t=w.clock, boot=w.boot(name), where=where, **more))  # type: ignore[arg-type]


def children(w: World) -> list[str]:
    return [f"{child.request.remedy}/{child.request.attempt}" for child in w.children.values()]


def noted(w: World, name: str) -> int:
    return sum(note.name == name for _, note in w.notes)


def test_xid_79_from_claim_to_hand_back() -> None:
    w = world()
    strike(w, 1)
    w.run()
    assert w.edges(gpu(1)) == ["healthy", "failed", "draining", "repairing", "validating", "healthy"]
    assert w.edges(N1) == ["healthy", "degraded", "draining", "repairing", "validating", "healthy"]
    assert w.slot_moves() == ["free->granted", "granted->begun", "begun->free"]
    assert [act for _, act in w.acts] == ["node.reboot"]
    assert noted(w, "handed_back") == 1


def test_messages_from_fault_to_first_activity_are_few() -> None:
    w = world()
    w.sent = 0
    strike(w, 1)
    while not w.children:
        w.deliver()
    assert w.sent <= 5  # claim, plan, ask, grant, and the GPU told that it is drained


def test_second_gpu_before_the_act_joins_the_plan_and_reboots_once() -> None:
    w = world()
    strike(w, 1)
    w.settle()
    strike(w, 2)
    w.run()
    assert [act for _, act in w.acts] == ["node.reboot"]
    assert noted(w, "handed_back") == 1
    assert w.lifecycle(gpu(2)) == "healthy"


def test_a_milder_running_attempt_lets_the_later_claim_wait_for_the_next_attempt_of_the_same_plan() -> None:
    w = world()
    strike(w, 1, 48)
    w.settle()
    strike(w, 2, 79)
    w.run()
    assert children(w) == ["reset_gpu/1", "reboot_node/2"]
    assert len({child.request.plan for child in w.children.values()}) == 1
    assert w.slot_moves() == ["free->granted", "granted->begun", "begun->granted", "granted->begun", "begun->free"]
    assert noted(w, "handed_back") == 1


def test_a_claim_before_the_token_raises_the_rung_under_the_same_plan() -> None:
    w = world()
    strike(w, 1, 48)
    strike(w, 2, 79)
    w.run()
    assert children(w) == ["reboot_node/1"]
    assert w.children[next(iter(w.children))].request.concerned != ()


def test_second_gpu_after_the_act_waits_for_the_next_attempt() -> None:
    w = world()
    strike(w, 1)
    w.settle()
    (child,) = w.children.values()
    w.step(child)
    w.settle()
    strike(w, 2, 48)
    w.run()
    assert children(w) == ["reboot_node/1", "reset_gpu/2"] or children(w) == ["reboot_node/1"]
    assert noted(w, "handed_back") == 1
    assert w.states[POOL].slots == {}


def test_failures_climb_and_end_in_quarantine_with_a_question() -> None:
    w = world()
    strike(w, 1)
    w.run(AttemptResult.FAILED)
    assert children(w) == ["reboot_node/1", "power_cycle_node/2"]
    assert w.lifecycle(N1) == w.lifecycle(gpu(1)) == "quarantined"
    asked = node.question(w.states[N1])
    assert asked is not None
    assert asked.default == "it stays in quarantine"
    assert list(w.states[POOL].slots) == ["n1"]
    assert w.states[R1].members["n1"].cause == "quarantined"


def test_no_effect_stops_the_ladder() -> None:
    w = world()
    strike(w, 1)
    w.run(AttemptResult.NO_EFFECT)
    assert children(w) == ["reboot_node/1"]
    assert w.lifecycle(N1) == "quarantined"


def test_unknown_is_a_new_attempt_never_the_same_again() -> None:
    w = world()
    strike(w, 1)
    w.run(AttemptResult.UNKNOWN)
    assert len(set(w.acts)) == len(w.acts) == 3
    assert w.lifecycle(N1) == "quarantined"


def test_unknown_xid_cordons_asks_and_resets_nothing() -> None:
    w = world()
    strike(w, 1, 999)
    w.run()
    assert children(w) == ["ask_person/1"]
    assert w.acts == []
    assert w.lifecycle(N1) == "quarantined"


def test_approval_without_a_rung_hands_the_node_back() -> None:
    w = world()
    strike(w, 1, 999)
    w.run()
    asked = node.question(w.states[N1])
    assert asked is not None
    yes = Approve(person="ann", plan=asked.plan, attempt=asked.attempt)
    assert node.check_approve(w.states[N1], yes) is None
    w.tell(N1, PersonSaid(said=yes, verb="approve"))
    w.run()
    assert w.lifecycle(N1) == w.lifecycle(gpu(1)) == "healthy"
    assert w.states[POOL].slots == {}


def test_approval_tries_the_next_rung() -> None:
    w = world()
    strike(w, 1, attempts=1)
    w.run(AttemptResult.FAILED)
    asked = node.question(w.states[N1])
    assert asked is not None
    assert "power_cycle_node" in asked.text
    w.tell(N1, PersonSaid(said=Approve(person="ann", plan=asked.plan, attempt=asked.attempt), verb="approve"))
    w.run()
    assert children(w) == ["reboot_node/1", "power_cycle_node/2"]
    assert w.lifecycle(N1) == "healthy"


def test_rejection_and_the_deadline_keep_it_out() -> None:
    w = world()
    strike(w, 1, 999)
    w.run()
    asked = node.question(w.states[N1])
    assert asked is not None
    no = Reject(person="ann", plan="other", attempt=1)
    assert "asks about" in (node.check_approve(w.states[N1], no) or "")
    w.advance(90_000)
    w.run()
    assert node.question(w.states[N1]) is None
    assert noted(w, "default_taken") == 1
    assert w.lifecycle(N1) == "quarantined"
    assert "asks nothing" in (node.check_approve(w.states[N1], no) or "")


def test_release_frees_quarantine_slot_and_gpu() -> None:
    w = world()
    strike(w, 1)
    w.run(AttemptResult.FAILED)
    w.tell(N1, Directive(id="d", order=Order.RELEASE, entity=N1, person="ann", time=at(w.clock)))
    w.run()
    assert w.lifecycle(N1) == w.lifecycle(gpu(1)) == "healthy"
    assert w.states[POOL].slots == {}
    assert w.states[R1].members["n1"].available


def test_a_fault_cleared_before_the_grant_withdraws_everything() -> None:
    w = world(nodes=2, concurrent=1)
    strike(w, 1)
    w.settle()
    strike(w, 3)
    w.settle()
    assert w.states[N2].plan.status is Status.QUEUED
    w.tell(
        gpu(3),
        fault(gpu(3), 79, t=w.clock + 5, episode=2, phase="cleared", offset=2, boot="n2-b1", where=seat("n2", 3)),
    )
    w.run()
    assert w.lifecycle(N2) == "healthy"
    assert w.states[POOL].line == {}
    assert len(w.acts) == 1


def test_a_budget_of_one_repairs_one_after_the_other() -> None:
    w = world(nodes=2, concurrent=1)
    strike(w, 1)
    strike(w, 3)
    w.settle()
    assert len(w.children) == 1
    assert "budget of 1" in w.states[POOL].line["n2"].told
    w.run()
    assert len(w.acts) == 2
    assert w.states[POOL].slots == {}


def test_a_node_that_hangs_stays_charged_and_the_other_does_not_start() -> None:
    w = world(nodes=2, concurrent=1)
    strike(w, 1)
    strike(w, 3)
    w.settle()
    w.advance(1000)
    w.settle()
    assert w.states[POOL].slots["n1"].status == "overdue"
    (child,) = w.children.values()
    w.step(child)
    assert w.acts == []
    assert child.step == "ended"
    state, answer, decisions = pool.write_off(w.states[POOL], WriteOff(person="ann", node=NodeId("n1")), at(w.clock))
    w.states[POOL] = state
    w.carry_out(POOL, decisions)
    assert answer.accepted
    assert list(w.states[POOL].slots) == ["n2"]


def test_watch_mode_only_says_what_it_would_do() -> None:
    w = world()
    w.tell(POOL, policy(2, mode="watch"))
    strike(w, 1)
    w.run()
    w.advance(120)
    w.run()
    assert (w.children, noted(w, "would_grant")) == ({}, 1)
    w.tell(POOL, policy(3, mode="act"))
    w.advance(600)
    w.run()
    assert len(w.acts) == 1


def test_a_rack_fault_explains_held_plans_and_asks_a_person_once() -> None:
    w = world(nodes=3, concurrent=3, per_rack=3, per_domain=3)
    nodes = [Entity.node(f"n{i}") for i in (1, 2, 3)]
    for name in nodes:
        w.tell(name, fault(name, "node.silent", boot="", where=seat(name.name), hold=HoldClass.RACK))
    w.settle()
    assert {w.states[name].plan.status for name in nodes} == {Status.HELD}
    w.tell(R1, fault(R1, "rack.silent", children=tuple(nodes), boot="", severity=Severity.CRITICAL))
    w.advance(300)
    w.run()
    assert w.children == {}
    assert noted(w, "rack") == 1
    assert {w.states[name].plan.status for name in nodes} == {Status.EXPLAINED}
    for name in nodes:
        w.tell(
            name,
            fault(name, "node.silent", boot="", where=seat(name.name), phase="cleared", offset=9, t=400, episode=1),
        )
    w.tell(R1, fault(R1, "rack.silent", phase="cleared", offset=9, boot="", t=400, episode=1))
    w.run()
    assert {w.lifecycle(name) for name in [*nodes, R1]} == {"healthy"}
    assert w.states[POOL].slots == {}


def test_a_hold_that_nobody_explains_goes_on() -> None:
    w = world()
    w.tell(N1, fault(N1, "node.silent", boot="", where=seat("n1"), hold=HoldClass.RACK))
    w.run()
    assert w.children == {}
    w.advance(46)
    w.run()
    assert children(w) == ["ask_person/1"]


def test_a_late_rack_fault_revokes_a_token_that_has_not_acted() -> None:
    w = world()
    strike(w, 1, 48, hold=HoldClass.RACK)
    w.settle()
    w.advance(46)
    w.settle()
    (child,) = w.children.values()
    w.tell(R1, fault(R1, "rack.power", children=(N1,), boot=""))
    w.settle()
    w.step(child)
    w.settle()
    assert w.acts == []
    assert child.step == "ended"
    w.advance(60)
    w.run()
    assert w.states[N1].plan.status is Status.EXPLAINED
    w.tell(R1, fault(R1, "rack.power", phase="cleared", offset=9, boot="", t=50, episode=1))
    for _ in range(20):
        w.advance(60)
        w.run()
    assert len(w.acts) == 1
    assert w.lifecycle(N1) == "healthy"


def stop_pool(w: World) -> object:
    state, answer, decisions = pool.stop(w.states[POOL], Stop(person="ann"), at(w.clock))
    w.states[POOL] = state
    w.carry_out(POOL, decisions)
    return answer


def resume_pool(w: World) -> None:
    state, _, decisions = pool.resume(w.states[POOL], Resume(person="ann"), at(w.clock))
    w.states[POOL] = state
    w.carry_out(POOL, decisions)


def test_a_stop_holds_and_resume_goes_on_under_a_new_token() -> None:
    w = world(nodes=2, concurrent=2, per_rack=2)
    strike(w, 1)
    w.settle()
    stop_pool(w)
    strike(w, 3)
    w.run()
    assert w.acts == []
    assert next(iter(w.children.values())).waiting
    assert w.states[N2].plan.status is Status.QUEUED
    w.advance(2000)
    w.run()
    resume_pool(w)
    w.run()
    assert len(w.acts) == 2
    assert {w.lifecycle(N1), w.lifecycle(N2)} == {"healthy"}


def test_a_stop_says_what_had_begun() -> None:
    w = world()
    strike(w, 1)
    w.settle()
    (child,) = w.children.values()
    w.step(child)
    answer = stop_pool(w)
    assert answer.begun == (str(child.request.entity),)  # type: ignore[attr-defined]


def test_a_fleet_stop_is_acknowledged_when_every_guard_has_answered() -> None:
    w = world()
    state, decisions = fleet.stop(w.states[FLEET], Stop(person="ann"), at(1))
    w.states[FLEET] = state
    w.carry_out(FLEET, decisions)
    assert fleet.acknowledged(w.states[FLEET]) is None
    w.settle()
    answer = fleet.acknowledged(w.states[FLEET])
    assert answer is not None
    assert (answer.stopped, answer.pools) == (True, ("p1",))
    strike(w, 1)
    w.run()
    assert w.children == {}
    w.tell(Entity.pool("p2"), policy())
    w.settle()
    assert w.states[Entity.pool("p2")].stop is not None
    state, decisions = fleet.resume(w.states[FLEET], Resume(person="ann"), at(2))
    w.states[FLEET] = state
    w.carry_out(FLEET, decisions)
    w.run()
    assert len(w.acts) == 1


@pytest.mark.parametrize("moment", range(12))
def test_a_guard_that_lost_its_memory_never_overspends(moment: int) -> None:
    w = world(nodes=2, concurrent=1)
    record = w.states[POOL]
    strike(w, 1)
    strike(w, 3)
    for _ in range(moment):
        if w.queue:
            w.deliver()
    for child in list(w.children.values()):
        w.step(child)
    w.forget(POOL, record)
    for _ in range(40):
        assert sum(child.open for child in w.children.values()) <= 1
        w.settle()
        for child in [child for child in w.children.values() if child.open]:
            w.step(child)
        w.advance(30)
    assert {w.lifecycle(N1), w.lifecycle(N2)} == {"healthy"}
    assert w.states[POOL].slots == {}
    assert len(set(w.acts)) == len(w.acts)


@pytest.mark.parametrize("moment", range(10))
def test_a_node_that_lost_its_memory_ends_the_same(moment: int) -> None:
    w = world()
    record = w.states[N1]
    strike(w, 1)
    for _ in range(moment):
        if w.queue:
            w.deliver()
    w.forget(N1, record)
    for _ in range(60):
        w.run()
        w.advance(60)
    assert w.lifecycle(N1) in ("healthy", "quarantined")
    assert len(set(w.acts)) == len(w.acts)
    assert list(w.states[POOL].slots) == ([] if w.lifecycle(N1) == "healthy" else ["n1"])


def test_a_person_cordon_during_a_repair_is_not_undone() -> None:
    w = world()
    strike(w, 1)
    w.settle()
    w.tell(N1, Directive(id="d", order=Order.CORDON, entity=N1, person="ann", time=at(5)))
    w.run()
    assert w.lifecycle(N1) == "maintenance"
    assert w.states[POOL].slots == {}
    assert w.states[R1].members["n1"].cause == "cordoned by ann"
    w.tell(N1, Directive(id="e", order=Order.RELEASE, entity=N1, person="ann", time=at(9)))
    w.run()
    assert w.lifecycle(N1) == "healthy"
    assert w.states[R1].members["n1"].available


def test_a_drain_by_a_person_takes_a_slot_and_keeps_the_node_out() -> None:
    w = world()
    w.tell(N1, Directive(id="d", order=Order.DRAIN, entity=N1, person="ann", time=at(5)))
    w.settle()
    (child,) = w.children.values()
    assert child.request.remedy is Remedy.DRAIN
    w._report(child, "ended", AttemptResult.REPAIRED)
    w.run()
    assert w.lifecycle(N1) == "maintenance"
    assert w.states[POOL].slots == {}


def test_a_node_without_a_provable_address_is_only_watched() -> None:
    w = world()
    w.tell(N1, inventory(N1, seat("n1", proven=False), t=1, gpus=(1, 2), boot="n1-b1"))
    strike(w, 1)
    w.run()
    assert (w.children, w.states[POOL].line) == ({}, {})
    assert noted(w, "watch_only") == 1
    w.tell(N1, inventory(N1, seat("n1"), t=2, gpus=(1, 2), boot="n1-b1"))
    w.run()
    assert len(w.acts) == 1


def test_a_claim_of_an_earlier_boot_never_acts() -> None:
    w = world()
    strike(w, 1)
    claim = next(index for index, (to, _) in enumerate(w.queue) if to == N1)
    held = w.queue.pop(claim)
    w.tell(N1, inventory(N1, seat("n1"), t=50, gpus=(1, 2), boot="n1-b2"))
    w.queue.append(held)
    w.run()
    assert (w.children, w.acts) == ({}, [])


def test_a_gpu_that_left_claims_nothing() -> None:
    w = world()
    strike(w, 1)
    w.tell(N1, inventory(N1, seat("n1"), t=50, gpus=(2,), boot="n1-b1"))
    w.run()
    assert w.children == {}
    assert w.lifecycle(N1) == "healthy"


def test_a_child_that_vanished_is_unknown_and_the_node_takes_over() -> None:
    w = world()
    strike(w, 1)
    w.settle()
    (child,) = w.children.values()
    w.step(child)
    w.settle()
    child.step = "ended"
    for _ in range(20):
        w.advance(1000)
        w.run()
    assert w.states[gpu(1)].sick.offences[0].result is AttemptResult.UNKNOWN
    assert w.lifecycle(N1) == "healthy"
    assert len(w.acts) == 2


def test_the_floor_counts_every_cause() -> None:
    w = world(nodes=3, concurrent=3, per_rack=3, floor_pct=60)
    w.tell(N2, Directive(id="d", order=Order.CORDON, entity=N2, person="ann", time=at(5)))
    w.settle()
    strike(w, 1)
    w.run()
    assert w.children == {}
    assert "floor" in w.states[POOL].line["n1"].told
    w.tell(N2, Directive(id="e", order=Order.RELEASE, entity=N2, person="ann", time=at(9)))
    w.run()
    assert len(w.acts) == 1
