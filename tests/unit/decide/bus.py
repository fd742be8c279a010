"""All brains wired by an in-memory bus: what a shell does with decisions, without Temporal.

The bus may be told to deliver in any order and more than once. Children are played: each step of an attempt is one call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuward.contracts.claims import AttemptResult, Explained, Report, Token, TokenRenewed
from gpuward.contracts.identity import FLEET, Entity, EntityKind
from gpuward.contracts.remediation import RemediationInput
from gpuward.contracts.remedies import Remedy
from gpuward.contracts.updates import Begin
from tests.unit.decide.made import FRESH, at, found, gpu, inventory, policy, seat
from workflows.decide import fleet, node, pool, rack
from workflows.decide import gpu as gpu_brain
from workflows.decide.decisions import Decision, LookAtRemediation, Note, Perform, StartRemediation, Tell
from workflows.decide.events import Event, Looked, Performed, Woken

BRAINS: dict[EntityKind, Any] = {
    EntityKind.GPU: gpu_brain, EntityKind.NODE: node, EntityKind.RACK: rack, EntityKind.POOL: pool,
}  # fmt: skip
ACT = {Remedy.RESET_GPU: "gpu.reset", Remedy.REBOOT_NODE: "node.reboot", Remedy.POWER_CYCLE_NODE: "node.power_cycle"}


@dataclass
class Child:
    """One attempt's remediation, played."""

    request: RemediationInput
    token: Token
    step: str = "started"
    waiting: bool = False
    """Refused by a stop: keeps its cordon and waits for a new token, until its deadline."""
    until: float = 0.0

    @property
    def open(self) -> bool:
        return self.step != "ended"


@dataclass
class World:
    """`queue` holds what is on its way; `acts` every act that began."""

    clock: float = 0.0
    states: dict[Entity, Any] = field(default_factory=dict)
    queue: list[tuple[Entity, Event]] = field(default_factory=list)
    children: dict[Entity, Child] = field(default_factory=dict)
    notes: list[tuple[Entity, Note]] = field(default_factory=list)
    acts: list[tuple[Entity, str]] = field(default_factory=list)
    boots: dict[str, int] = field(default_factory=dict)
    sent: int = 0

    def brain(self, entity: Entity) -> Any:
        return fleet if entity == FLEET else BRAINS[entity.kind]

    def born(self, entity: Entity) -> None:
        if entity not in self.states:
            self.states[entity] = self.brain(entity).born(entity)
            self.tell(entity, FRESH)

    def tell(self, entity: Entity, *events: Event) -> None:
        """One activation."""
        self.born(entity)
        state, decisions = self.brain(entity).decide(self.states[entity], list(events), at(self.clock))
        self.states[entity] = state
        self.carry_out(entity, decisions)

    def carry_out(self, entity: Entity, decisions: list[Decision]) -> None:
        for decision in decisions:
            match decision:
                case Tell(to=to, message=message):
                    self.sent += 1
                    self.queue.append((to, message))
                case Note():
                    self.notes.append((entity, decision))
                case StartRemediation(request=request):
                    self.children.setdefault(request.entity, Child(request, request.token))
                case Perform(tag=tag):
                    self.queue.append((entity, Performed(tag=tag, ok=True, result={"result": "done"})))
                case LookAtRemediation(remediation=remediation):
                    child = self.children.get(remediation)
                    status = "missing" if child is None else "running" if child.open else "closed"
                    self.queue.append((entity, Looked(remediation=remediation, status=status)))

    def deliver(self, index: int = 0, *, again: bool = False) -> None:
        """Delivers one message on its way, `again`: and leaves a copy of it behind."""
        to, event = self.queue[index] if again else self.queue.pop(index)
        if to.kind is EntityKind.REMEDIATION:
            self._to_child(to, event)
        else:
            self.tell(to, event)

    def _to_child(self, to: Entity, event: Event) -> None:
        child = self.children[to]
        if isinstance(event, TokenRenewed):
            child.token, child.waiting = event.token, False
        elif isinstance(event, Explained) and child.open and child.step != "acting":
            self._report(child, "ended", AttemptResult.REVOKED)

    def settle(self, limit: int = 500) -> None:
        """Delivers everything in order."""
        for _ in range(limit):
            if not self.queue:
                return
            self.deliver()
        raise AssertionError(f"the actors never stop talking: {self.queue[:5]}")

    def advance(self, seconds: float) -> None:
        self.clock += seconds
        for child in self.children.values():
            if child.open and child.waiting and self.clock >= child.until:
                self._report(child, "ended", AttemptResult.REFUSED, why="the stop lasted too long")
        for entity in list(self.states):
            wake = self.brain(entity).next_wake(self.states[entity])
            if wake is not None and wake <= at(self.clock):
                self.tell(entity, Woken())

    def next_deadline(self) -> float | None:
        wakes = [self.brain(entity).next_wake(state) for entity, state in self.states.items()]
        later = [(wake - at(0)).total_seconds() for wake in wakes if wake is not None]
        return min(later, default=None)

    def step(self, child: Child, result: AttemptResult = AttemptResult.REPAIRED) -> None:
        """One step of an attempt: begin the act, act, validate, end."""
        request = child.request
        if child.step == "started" and request.remedy is Remedy.ASK_PERSON:
            self._report(child, "ended", AttemptResult.QUARANTINED)
        elif child.step == "started" and not child.waiting:
            self._begin(child)
        elif child.step == "acting":
            if request.remedy is not Remedy.RESET_GPU and result is not AttemptResult.NO_EFFECT:
                self.reboot(str(request.node))
            self._report(child, "validating")
        elif child.step == "validating":
            self._report(child, "ended", result)

    def run(self, result: AttemptResult = AttemptResult.REPAIRED, rounds: int = 60) -> None:
        """Everything in order until nothing moves: messages, children, never a deadline."""
        for _ in range(rounds):
            self.settle()
            moving = [child for child in self.children.values() if child.open and not child.waiting]
            if not moving:
                return
            for child in moving:
                self.step(child, result)
        raise AssertionError("a loop that never ends")

    def reboot(self, node_name: str) -> None:
        """The node comes up anew, and the streams say so to it and to its GPUs."""
        self.boots[node_name] += 1
        self.clock += 1
        entity = Entity.node(node_name)
        known = self.states[entity]
        numbers = tuple(int(uuid[4:12], 16) for uuid in known.gpus)
        said = {"t": self.clock, "boot": self.boot(node_name)}
        self.queue.append((entity, inventory(entity, known.seat, gpus=numbers, **said)))
        for n in numbers:
            where = seat(node_name, n % 30, rack=known.seat.rack)
            self.queue.append((gpu(n), inventory(gpu(n), where, **said)))

    def boot(self, node_name: str) -> str:
        return f"{node_name}-b{self.boots[node_name]}"

    def _begin(self, child: Child) -> None:
        request, guard = child.request, child.request.guard
        act = ACT[request.remedy]
        asked = Begin(
            node=request.node,
            plan=request.plan,
            attempt=request.attempt,
            token=child.token,
            boot_id=request.boot_id,
            act=act,
        )
        state, answer, decisions = pool.begin(self.states[guard], asked, at(self.clock))
        self.states[guard] = state
        self.carry_out(guard, decisions)
        if answer.verdict == "begun":
            self.acts.append((request.entity, act))
            self._report(child, "acting")
        elif answer.reason.startswith("stop"):
            child.waiting, child.until = True, self.clock + request.limits.remediation_deadline_s
        else:
            self._report(child, "ended", AttemptResult.REFUSED, why=answer.reason)

    def _report(self, child: Child, step: str, result: AttemptResult | None = None, why: str = "") -> None:
        acted = child.step in ("acting", "validating")
        child.step = step
        request = child.request
        report = Report(
            plan=request.plan, attempt=request.attempt, step=step, result=result,
            boot_id=self.boot(str(request.node)), why=why, acted=acted or step == "acting",
        )  # fmt: skip
        self.queue.append((Entity.node(request.node), report))

    def forget(self, entity: Entity, record: Any) -> None:
        """The actor is terminated behind our back and comes back with an old record."""
        self.clock += 1
        self.states[entity] = self.brain(entity).born(entity)
        self.tell(entity, found(entity, record))

    def lifecycle(self, entity: Entity) -> str:
        return str(self.brain(entity).lifecycle(self.states[entity]))

    def edges(self, entity: Entity) -> list[str]:
        notes = [note for who, note in self.notes if who == entity and note.what == "edge"]
        return [notes[0].before or ""] + [note.after or "" for note in notes] if notes else []

    def slot_moves(self) -> list[str]:
        names = {
            "granted",
            "begun",
            "overdue",
            "released",
            "withdrawn",
            "revoked",
            "renewed",
            "restated",
            "written_off",
        }
        notes = [note for who, note in self.notes if who == Entity.pool("p1") and note.name in names and note.after]
        return [f"{note.before}->{note.after}" for note in notes]


def world(nodes: int = 1, gpus: int = 2, *, racks: int = 1, **budget: Any) -> World:
    """`nodes` nodes n1… with `gpus` GPUs each (numbered through), over `racks` racks, in pool p1."""
    w = World()
    w.tell(Entity.pool("p1"), policy(**budget))
    for i in range(nodes):
        name, rack_name = f"n{i + 1}", f"r{i % racks + 1}"
        w.boots[name] = 1
        numbers = tuple(range(i * gpus + 1, (i + 1) * gpus + 1))
        where = seat(name, rack=rack_name)
        boot = w.boot(name)
        w.tell(Entity.rack(rack_name), inventory(Entity.rack(rack_name), where, gpus=numbers, boot=boot))
        w.tell(Entity.node(name), inventory(Entity.node(name), where, gpus=numbers, boot=boot))
        for n in numbers:
            w.tell(gpu(n), inventory(gpu(n), seat(name, n % 30, rack=rack_name), boot=boot))
    w.settle()
    return w
