"""Laws of the actors, on all four brains at once: messages late, twice and out of order, people stopping, memories lost."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gpuward.contracts.claims import AttemptResult
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.identity import Entity
from gpuward.contracts.lifecycle import EDGES, Lifecycle
from gpuward.contracts.remedies import HoldClass
from gpuward.contracts.updates import Resume, Stop
from tests.unit.decide.bus import World, world
from tests.unit.decide.made import at, fault, gpu, seat
from workflows.decide import budget, pool
from workflows.decide.node_state import WAITING, Status

POOL = Entity.pool("p1")
NODES, GPUS = 3, 2
BUDGET = {"concurrent": 2, "per_rack": 1, "per_domain": 1, "floor_pct": 30.0}
RESULTS = [
    AttemptResult.REPAIRED,
    AttemptResult.REPAIRED,
    AttemptResult.FAILED,
    AttemptResult.NO_EFFECT,
    AttemptResult.UNKNOWN,
]
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))


class Brains(RuleBasedStateMachine):
    """A fleet of three nodes in two racks, with everything that can go wrong between the actors going wrong."""

    w: World

    @initialize()
    def start(self) -> None:
        self.w = world(NODES, GPUS, racks=2, **BUDGET)
        self.offset = 0
        self.open: dict[tuple[int, int], float] = {}
        self.records: dict[Entity, Any] = dict(self.w.states)
        self.noted = len(self.w.notes)
        self.stopped = False
        self.slots: set[str] = set()

    @rule(n=st.integers(1, NODES * GPUS), code=st.sampled_from([79, 48, 48, 31, 999]), held=st.booleans())
    def strike(self, n: int, code: int, held: bool) -> None:
        """Law: no fault is lost."""
        self._fault(n, code, "raised", self.open.setdefault((n, code), self._tick()), held=held)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def clear(self, data: st.DataObject) -> None:
        n, code = data.draw(st.sampled_from(sorted(self.open)))
        self._fault(n, code, "cleared", self.open.pop((n, code)))

    @precondition(lambda self: self.w.queue)
    @rule(data=st.data(), again=st.booleans())
    def deliver(self, data: st.DataObject, again: bool) -> None:
        """Law: level-triggered. Any message may come next, and come again."""
        self.w.deliver(data.draw(st.integers(0, len(self.w.queue) - 1)), again=again and len(self.w.queue) < 60)

    @rule()
    def deliver_all(self) -> None:
        self.w.settle()

    @precondition(lambda self: any(child.open for child in self.w.children.values()))
    @rule(data=st.data(), result=st.sampled_from(RESULTS))
    def step(self, data: st.DataObject, result: AttemptResult) -> None:
        """Law: a stop holds."""
        moving = [child for child in self.w.children.values() if child.open]
        before = len(self.w.acts)
        child = data.draw(st.sampled_from(moving))
        self.w.step(child, result)
        assert not self.stopped or len(self.w.acts) == before

    @rule(seconds=st.sampled_from([5, 61, 700, 8000]))
    def advance(self, seconds: int) -> None:
        self.w.advance(seconds)

    @rule(i=st.integers(1, NODES))
    def reboot_by_others(self, i: int) -> None:
        self.w.reboot(f"n{i}")

    @rule(entity=st.sampled_from([POOL, *(Entity.node(f"n{i + 1}") for i in range(NODES)), gpu(1), gpu(3)]))
    def forget(self, entity: Entity) -> None:
        """An actor is terminated and comes back from the checkpoint on its newest ledger record."""
        self.w.forget(entity, self.records[entity])

    @rule()
    def stop(self) -> None:
        self._person(pool.stop, Stop(person="ann"))
        self.stopped = True

    @rule()
    def resume(self) -> None:
        self._person(pool.resume, Resume(person="ann"))
        self.stopped = False

    @invariant()
    def checkpoints(self) -> None:
        for who, _ in self.w.notes[self.noted :]:
            self.records[who] = self.w.states[who]
        self.noted = len(self.w.notes)

    @invariant()
    def budgets_and_floors_are_never_exceeded(self) -> None:
        """Law: budgets and floors are never exceeded; at most one charged slot per node."""
        state = self.w.states[POOL]
        slots = [slot for slot in state.slots.values() if slot.status != "restated"]
        assert len(slots) <= BUDGET["concurrent"]
        racks = [slot.asked.rack for slot in slots]
        assert len(set(racks)) == len(racks)
        for node in set(state.slots) - self.slots:
            elsewhere = {name for level in state.racks.values() for name in level.unavailable}
            left = budget.total(state) - len(budget.unavailable(state))
            assert node in elsewhere or left * 100 >= BUDGET["floor_pct"] * budget.total(state)
        self.slots = set(state.slots)

    @invariant()
    def what_acts_is_charged(self) -> None:
        """Law: what is disturbed stays charged."""
        if self.w.states[POOL].restating:
            return
        acting = {str(c.request.node) for c in self.w.children.values() if c.step in ("acting", "validating")}
        assert acting <= set(self.w.states[POOL].slots)

    @invariant()
    def an_act_begins_once_per_attempt(self) -> None:
        """Law: an irreversible act happens at most once per numbered attempt."""
        assert len(set(self.w.acts)) == len(self.w.acts)

    @invariant()
    def ladders_end(self) -> None:
        """Law: failed repairs climb the ladder, at most the attempts that policy grants."""
        for state in self.w.states.values():
            incident = getattr(getattr(state, "sick", None), "incident", None)
            assert incident is None or incident.attempts <= 3 + incident.extra

    @invariant()
    def every_wait_has_a_deadline(self) -> None:
        """Law: nothing waits without a deadline."""
        for i in range(NODES):
            state = self.w.states[Entity.node(f"n{i + 1}")]
            if state.plan is not None and state.plan.status in {
                *WAITING,
                Status.RUNNING,
                Status.ANSWERS,
                Status.LOOKING,
            }:
                assert state.plan.wake is not None

    @invariant()
    def lifecycles_follow_the_table(self) -> None:
        for _, note in self.w.notes[-20:]:
            if note.what == "edge":
                assert Lifecycle(note.after) in EDGES[Lifecycle(note.before)]

    def teardown(self) -> None:
        """Law: every raise ends: repaired, cleared, or in quarantine until a person releases it."""
        if not hasattr(self, "w"):
            return
        self._person(pool.resume, Resume(person="ann"))
        for i in range(60):
            self.w.run()
            self.w.advance(650)
            if i % 3 == 2:
                self._release()
        stuck = {
            str(e): self.w.lifecycle(e)
            for e in self.w.states
            if e.kind in ("gpu", "node") and self.w.lifecycle(e) != "healthy"
        }
        assert stuck == {}
        assert self.w.states[POOL].slots == {}
        assert all(state.plan is None for e, state in self.w.states.items() if e.kind == "node")
        assert all(len(state.model_dump_json()) < 20_000 for state in self.w.states.values())

    def _release(self) -> None:
        for i in range(NODES):
            entity = Entity.node(f"n{i + 1}")
            if self.w.lifecycle(entity) == "quarantined":
                order = Directive(
                    id=f"r{self.w.clock}", order=Order.RELEASE, entity=entity, person="ann", time=at(self.w.clock)
                )
                self.w.tell(entity, order)
        for n in range(1, NODES * GPUS + 1):
            if self.w.lifecycle(gpu(n)) == "quarantined":
                order = Directive(
                    id=f"g{self.w.clock}", order=Order.RELEASE, entity=gpu(n), person="ann", time=at(self.w.clock)
                )
                self.w.tell(gpu(n), order)

    def _tick(self) -> float:
        self.w.clock += 1
        return self.w.clock

    def _where(self, n: int) -> tuple[str, Any]:
        name = f"n{(n - 1) // GPUS + 1}"
        return name, seat(name, n % 30, rack=self.w.states[Entity.node(name)].seat.rack)

    def _fault(self, n: int, code: int, phase: str, episode: float, *, held: bool = False) -> None:
        self.offset += 1
        name, where = self._where(n)
        said = fault(
            gpu(n), code, t=self._tick(), episode=episode, phase=phase, offset=self.offset, boot=self.w.boot(name), where=where,
            hold=HoldClass.RACK if held else HoldClass.NONE,
        )  # fmt: skip
        self.w.queue.append((gpu(n), said))

    def _person(self, verb: Any, request: Any) -> None:
        state, _, decisions = verb(self.w.states[POOL], request, at(self.w.clock))
        self.w.states[POOL] = state
        self.w.carry_out(POOL, decisions)


TestBrains = Brains.TestCase
TestBrains.settings = settings(QUIET, max_examples=60, stateful_step_count=40)


@given(
    order=st.lists(st.integers(0, 40), max_size=120),
    twice=st.lists(st.booleans(), max_size=120),
    result=st.sampled_from([AttemptResult.REPAIRED, AttemptResult.FAILED]),
)
@settings(QUIET, max_examples=60)
def test_late_twice_or_out_of_order_the_end_is_the_same(
    order: list[int], twice: list[bool], result: AttemptResult
) -> None:
    """Law: an actor that is woken late, twice or out of order reaches the same end."""
    w = world(2, 2, concurrent=2, per_rack=2)
    for n, code in ((1, 79), (2, 48), (3, 48)):
        name = f"n{(n - 1) // 2 + 1}"
        w.clock += 1
        w.queue.append((gpu(n), fault(gpu(n), code, t=w.clock, boot=w.boot(name), where=seat(name, n))))
    for index, again in zip(order, twice, strict=False):
        if w.queue:
            w.deliver(index % len(w.queue), again=again)
    for _ in range(15):
        w.run(result)
        w.advance(700)
    end = "healthy" if result is AttemptResult.REPAIRED else "quarantined"
    assert {w.lifecycle(Entity.node("n1")), w.lifecycle(Entity.node("n2"))} == {end}
    assert w.lifecycle(gpu(3)) == end
    assert {w.lifecycle(gpu(1)), w.lifecycle(gpu(2))} <= {end, *({"failed"} if end == "quarantined" else ())}
    assert set(w.states[POOL].slots) == (set() if end == "healthy" else {"n1", "n2"})
    assert len(set(w.acts)) == len(w.acts)
