"""The rack's brain: knows its members, holds plans that the rack may explain, and asks the pool guard for the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gpuward.contracts.claims import Available, Plan, Restate, SlotReleased
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity
from gpuward.contracts.inventory import InventoryChanged
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.contracts.remedies import Severity
from workflows.decide import edges, holds, restating
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.events import Event
from workflows.decide.memory import recall
from workflows.decide.rack_state import Member, PlanStatus, State

__all__ = ["State", "born", "decide", "lifecycle", "next_wake", "summary"]

MAX_HANDED_BACK = 32
MAX_DIRECTIVES = 32


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    s, ready, how = recall(state.copied(), events, born)
    if s.amnesiac:
        return s, []
    out: list[Decision] = []
    if how == "none":
        out.append(Note(OutcomeKind.BORN, name="born", text=f"{s.entity} is known from now on"))
    elif how == "found":
        s.told.clear()
        restating.ask_members(s, tuple(s.members), str(int(now.timestamp() * 1000)), out)
    for event in ready:
        _take(s, event, now, out)
    holds.expire(s, now, out)
    holds.end_holds(s, now, out)
    restating.finish(s, now, out)
    _say_levels(s, now, out)
    _move(s, out)
    return s, out


def next_wake(state: State) -> datetime | None:
    if state.amnesiac:
        return None
    wakes = [held.until for held in state.plans.values() if held.status is PlanStatus.HELD]
    wakes += [incident.deadline for incident in state.incidents.values() if not incident.expired]
    wakes += [asked.deadline for asked in state.restating.values()]
    return min((wake for wake in wakes if wake is not None), default=None)


def lifecycle(state: State) -> str:
    return state.lifecycle.value


def summary(state: State) -> str:
    if state.amnesiac:
        return state.unreadable or "recalling what it knew"
    away = sum(not member.available for member in state.members.values())
    said = f"{len(state.members)} nodes, {away} unavailable"
    if state.plans:
        said += f", {len(state.plans)} plans"
    for incident in state.incidents.values():
        said += f"; {incident.fault_class} explains {len(incident.children)} entities"
    return said


def _take(s: State, event: Event, now: datetime, out: list[Decision]) -> None:
    match event:
        case InventoryChanged():
            _inventory(s, event, now, out)
        case Available():
            _available(s, event, out)
        case Plan():
            restating.heard(s, str(event.node), event.restate)
            holds.take_plan(s, event, now, out)
        case Fault():
            holds.take_fault(s, event, now, out)
        case Restate():
            restating.begin(s, event, now, out)
        case Directive():
            _directive(s, event, out)
        case _:
            pass


def _inventory(s: State, change: InventoryChanged, now: datetime, out: list[Decision]) -> None:
    node = str(change.seat.node)
    known, member = node in s.members, s.members.get(node, Member())
    newer = (change.seat.epoch, change.time) >= (member.epoch, member.seated or change.time)
    if not newer:
        return
    if change.removed:
        s.members.pop(node, None)
        left = s.plans.pop(node, None)
        if left is not None and left.status is PlanStatus.ASKED:
            s.ask(left.plan.model_copy(update={"withdrawn": True, "revoked": True}), now, out)
        return
    domains = {str(gpu.domain) for gpu in change.gpus if gpu.domain} | {str(change.seat.domain or "")} - {""}
    if not known:
        out.append(
            Note(OutcomeKind.RECORDED, name="member", text=f"{node} stands in {s.entity}", details={"node": node})
        )
    member.pool, member.epoch, member.seated = str(change.seat.pool or ""), change.seat.epoch, change.time
    member.domains = tuple(sorted(domains)) or member.domains
    s.members[node] = member


def _available(s: State, said: Available, out: list[Decision]) -> None:
    """A level by revision, and, whatever its revision, the one event that rides on it: a plan was handed back."""
    node = str(said.node)
    member = s.members.setdefault(node, Member())
    if said.revision > member.revision:
        member.revision, member.available, member.cause = said.revision, said.available, said.cause
    plan = s.plans.get(node)
    if said.idle:
        restating.heard(s, node, said.restate)
        if plan is not None and said.revision > plan.plan.revision:
            del s.plans[node]
    if said.handed_back is None or said.handed_back in s.handed_back:
        return
    s.handed_back = [*s.handed_back, said.handed_back][-MAX_HANDED_BACK:]
    if plan is not None and plan.plan.plan == said.handed_back:
        s.plans.pop(node, None)
    pool = str(plan.plan.seat.pool or "") if plan is not None else member.pool or str(said.pool or "")
    if pool:
        out.append(Tell(Entity.pool(pool), SlotReleased(node=said.node, plan=said.handed_back)))


def _directive(s: State, said: Directive, out: list[Decision]) -> None:
    """An order to a rack is one to each of its nodes."""
    if said.id in s.directives:
        return
    s.directives = [*s.directives, said.id][-MAX_DIRECTIVES:]
    text = f"{said.person} said {said.order}" + (f": {said.reason}" if said.reason else "")
    out.append(Note(OutcomeKind.PERSON_SAID, name=said.order.value, text=text))
    if said.order is Order.ANNOTATE:
        return
    nodes = [Entity.node(name) for name in s.members]
    out.extend(Tell(node, said.model_copy(update={"entity": node, "id": f"{said.id}@{node.name}"})) for node in nodes)


def _say_levels(s: State, now: datetime, out: list[Decision]) -> None:
    """Says each pool's level on change. Where it already went out with an ask, it is not said twice."""
    moved = [pool for pool in sorted({*s.pools, *s.told}) if s.told.get(pool) != s.level(pool)]
    out.extend(Tell(Entity.pool(pool), s.stamped(pool, now)) for pool in moved)


def _move(s: State, out: list[Decision]) -> None:
    target, cause = Lifecycle.HEALTHY, Cause()
    if s.incidents:
        worst = max(s.incidents.values(), key=lambda incident: incident.severity.rank)
        target = Lifecycle.FAILED if worst.severity is Severity.CRITICAL else Lifecycle.DEGRADED
        cause = worst.cause
    s.lifecycle = edges.move(s.lifecycle, target, out, cause, text=summary(s))
