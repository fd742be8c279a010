"""The pool guard's brain: the one authority over how much of a pool may be disturbed at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gpuward.contracts.claims import Ask, FleetStop, FleetStopped, RackAvailability, Register, SlotReleased
from gpuward.contracts.directives import Directive
from gpuward.contracts.identity import FLEET, Entity, PoolId
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.policy import PolicyChanged
from gpuward.contracts.updates import (
    Begin,
    BeginAnswer,
    PersonAnswer,
    Resume,
    Stop,
    StopAnswer,
    WriteOff,
)
from workflows.decide import asks, budget, recollecting, stopping
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.events import Event
from workflows.decide.memory import recall, rising
from workflows.decide.slots import State, Stopped, close, free

__all__ = [
    "State",
    "begin",
    "born",
    "decide",
    "lifecycle",
    "next_wake",
    "resume",
    "stop",
    "summary",
    "write_off",
]


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    s, ready, how = recall(state.copied(), events, born)
    if s.amnesiac:
        return s, []
    out: list[Decision] = []
    if how is not None:
        _recalled(s, state, how == "found", now, out)
    for event in ready:
        _take(s, event, now, out)
    _go_on(s, now, out)
    return s, out


def begin(state: State, request: Begin, now: datetime) -> tuple[State, BeginAnswer, list[Decision]]:
    """The interlock's last question. Law: an act begins only when this says so, once per attempt and action."""
    s = state.copied()
    out: list[Decision] = []
    reason = stopping.refuses(s, request, now)
    if reason is None:
        stopping.begin(s, request, out)
        return s, BeginAnswer(verdict="begun"), out
    slot = s.slots.get(str(request.node))
    if slot is not None and slot.asked.plan == request.plan and reason.startswith("stop"):
        slot.refused_by_stop = True
    if not s.amnesiac:
        text = f"{request.act} on {request.node} refused: {reason}"
        cause = slot.cause() if slot is not None else Note(OutcomeKind.DECISION).cause
        out.append(Note(OutcomeKind.DECISION, name="begin_refused", text=text, result="refused", cause=cause))
    return s, BeginAnswer(verdict="refused", reason=reason), out


def stop(state: State, request: Stop, now: datetime) -> tuple[State, StopAnswer, list[Decision]]:
    """Law: a stop holds, also while the guard is amnesiac: then nothing begins anyway, and it is remembered."""
    s = state.copied()
    out: list[Decision] = []
    if s.stopped is None:
        s.stopped = Stopped(person=request.person, reason=request.reason, since=now)
        _note_stop(s, out)
    return s, _answer(s), out


def resume(state: State, request: Resume, now: datetime) -> tuple[State, StopAnswer, list[Decision]]:
    """Lifts this pool's own stop; a stop of the whole fleet holds on. While amnesiac nothing is lifted: ask again."""
    s = state.copied()
    out: list[Decision] = []
    if not s.amnesiac and s.stopped is not None:
        s.stopped = None
        out.append(_note_person("resumed", request.person, request.reason))
        _resumed(s, now, out)
    return s, _answer(s), out


def write_off(state: State, request: WriteOff, now: datetime) -> tuple[State, PersonAnswer, list[Decision]]:
    """A person frees the slot of a node that will not come back by itself. Its token begins nothing any more."""
    s = state.copied()
    out: list[Decision] = []
    node = str(request.node)
    if s.amnesiac or node not in s.slots:
        why = "the guard is recalling what it granted; ask again" if s.amnesiac else f"{node} has no charged slot"
        return s, PersonAnswer(accepted=False, text=why), out
    free(s, node, "written_off", out, text=f"by {request.person}" + (f": {request.reason}" if request.reason else ""))
    _go_on(s, now, out)
    return s, PersonAnswer(accepted=True, text=f"the slot of {node} is free"), out


def next_wake(state: State) -> datetime | None:
    if state.amnesiac:
        return None
    wakes = [stopping.slot_deadline(slot) for slot in state.slots.values()]
    return min((wake for wake in [*wakes, state.restate_until] if wake is not None), default=None)


def lifecycle(state: State) -> str:
    """A pool has no lifecycle of its own; what a list shows is the guard's state, or that it is stopped."""
    return "stopped" if state.stop is not None else state.fsm.value


def summary(state: State) -> str:
    if state.amnesiac:
        return state.unreadable or "recalling what it knew"
    if state.policy is None:
        return "no policy yet"
    said = f"{state.policy.mode}, {len(state.slots)} of {state.policy.budget.concurrent} slots charged"
    said += f", {len(state.line)} in line, {len(budget.unavailable(state))} of {budget.total(state)} nodes unavailable"
    if state.stop is not None:
        said = f"stopped by {state.stop.person}; {said}"
    return said


def _recalled(s: State, amnesiac: State, found: bool, now: datetime, out: list[Decision]) -> None:
    s.epoch, s.n = rising(s.epoch, now), 0
    if amnesiac.stopped is not None:
        s.stopped = amnesiac.stopped.model_copy()
        _note_stop(s, out)
    if found:
        recollecting.ask_racks(s, now, out)
    else:
        out.append(Note(OutcomeKind.BORN, name="born", text=f"{s.entity} is guarded from now on"))
    out.append(Tell(FLEET, Register(pool=PoolId(s.entity.name))))


def _take(s: State, event: Event, now: datetime, out: list[Decision]) -> None:
    match event:
        case Ask():
            recollecting.take_level(s, event.availability, now, out)
            asks.take(s, event, now, out)
        case RackAvailability():
            recollecting.take_level(s, event, now, out)
        case SlotReleased():
            _released(s, event, out)
        case PolicyChanged():
            _policy(s, event, out)
        case FleetStop():
            _fleet(s, event, now, out)
        case Directive():
            out.append(_note_person(event.order.value, event.person, event.reason))
        case _:
            pass


def _go_on(s: State, now: datetime, out: list[Decision]) -> None:
    recollecting.give_up_waiting(s, now)
    stopping.overdue(s, now, out)
    asks.serve(s, now, out)


def _released(s: State, said: SlotReleased, out: list[Decision]) -> None:
    """The node validated and was handed back."""
    node = str(said.node)
    if node in s.line and s.line[node].plan == said.plan:
        del s.line[node]
    slot = s.slots.get(node)
    if slot is not None and slot.asked.plan == said.plan:
        free(s, node, "released", out)
    else:
        close(s, said.plan)


def _policy(s: State, said: PolicyChanged, out: list[Decision]) -> None:
    if said.revision <= s.policy_revision:
        return
    s.policy, s.policy_version, s.policy_revision = said.pool, said.version, said.revision
    text = f"{said.pool.mode}, {said.pool.budget.concurrent} at once, floor {said.pool.budget.floor_pct:g} %"
    cause = Note(OutcomeKind.DECISION).cause.model_copy(update={"policy": said.version})
    out.append(Note(OutcomeKind.DECISION, name="policy", text=text, cause=cause))


def _fleet(s: State, said: FleetStop, now: datetime, out: list[Decision]) -> None:
    """The fleet's stop or resume, newest revision; answered each time."""
    if said.revision > s.fleet_revision:
        s.fleet_revision = said.revision
        was = s.fleet
        s.fleet = Stopped(person=said.person, reason=said.reason, since=now, noted=True) if said.stopped else None
        if (was is None) == said.stopped:
            name = "fleet_stopped" if said.stopped else "fleet_resumed"
            out.append(_note_person(name, said.person, said.reason))
        if not said.stopped:
            stopping.renew(s, now, out)
    pool = PoolId(s.entity.name)
    out.append(Tell(FLEET, FleetStopped(pool=pool, revision=said.revision, begun=stopping.begun(s))))


def _resumed(s: State, now: datetime, out: list[Decision]) -> None:
    stopping.renew(s, now, out)
    _go_on(s, now, out)


def _answer(s: State) -> StopAnswer:
    stopped = s.stop is not None or s.amnesiac
    return StopAnswer(stopped=stopped, begun=stopping.begun(s), pools=(s.entity.name,))


def _note_stop(s: State, out: list[Decision]) -> None:
    if s.stopped is not None and not s.amnesiac and not s.stopped.noted:
        s.stopped.noted = True
        out.append(_note_person("stopped", s.stopped.person, s.stopped.reason))


def _note_person(name: str, person: str, reason: str) -> Note:
    text = f"{name} by {person}" + (f": {reason}" if reason else "")
    return Note(
        OutcomeKind.STOP if "stop" in name or "resume" in name else OutcomeKind.PERSON_SAID, name=name, text=text
    )
