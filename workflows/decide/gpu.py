"""The GPU's brain: takes in faults, keeps one incident, and claims from its node what it needs.

It owns the ladder: the node says how an attempt ended, the GPU answers with a newer claim (next rung, none, quarantine).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from gpuward.contracts.claims import Approved, AttemptEnded, Claim, LifecycleMoved, Restate
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity
from gpuward.contracts.inventory import InventoryChanged
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.remedies import Severity
from gpuward.contracts.seat import Seat
from workflows.decide import edges, incidents
from workflows.decide.boots import Boots
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.events import Event
from workflows.decide.memory import Memory, recall, rising
from workflows.decide.sickness import Need, Sickness

PHASES = (Lifecycle.DRAINING, Lifecycle.REPAIRING, Lifecycle.VALIDATING)
MAX_DIRECTIVES = 32


class State(Memory):
    """Everything that one GPU's actor remembers."""

    seat: Seat | None = None
    seated: datetime | None = None
    """Time of the newest inventory change taken in."""
    present: bool = True
    """False: the inventory says that it stands nowhere now."""
    boots: Boots = Field(default_factory=Boots)
    sick: Sickness = Field(default_factory=Sickness)
    lifecycle: Lifecycle = Lifecycle.HEALTHY
    retired: bool = False
    repair: tuple[str, int] | None = None
    """The attempt (plan, attempt) of the node that is going on for this GPU."""
    phase: Lifecycle | None = None
    """How far that attempt has got."""
    claim: Claim | None = None
    """The last one sent to the node of this seat."""
    revision: int = 0
    directives: list[str] = Field(default_factory=list)


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    """Law: level-triggered. The claim follows from the state alone, and goes out only when its content has changed."""
    s, ready, how = recall(state.copied(), events, born)
    if s.amnesiac:
        return s, []
    out: list[Decision] = []
    if how == "none":
        out.append(Note(OutcomeKind.BORN, name="born", text=f"{s.entity} is known from now on"))
    again = how == "found"
    for event in ready:
        again = _take(s, event, now, out) or again
    _reconcile(s, now, out, again=again)
    return s, out


def next_wake(state: State) -> datetime | None:  # noqa: ARG001 - every brain has it
    """A GPU waits for messages alone: what it waits for has its deadline at the node."""
    return None


def lifecycle(state: State) -> str:
    return state.lifecycle.value


def summary(state: State) -> str:
    incident = state.sick.incident
    if state.amnesiac:
        return state.unreadable or "recalling what it knew"
    if incident is None:
        return f"{state.lifecycle}"
    if incident.quarantined:
        return f"{incident.root}: in quarantine, {incident.quarantined}"
    rung = state.sick.rung()
    return f"{incident.root}: needs {rung}, {state.sick.attempts_left()} attempts left" if rung else f"{incident.root}"


def _take(s: State, event: Event, now: datetime, out: list[Decision]) -> bool:
    """Takes in one event; True when the claim is to be said again even if it has not changed."""
    match event:
        case Fault():
            _fault(s, event, now, out)
        case InventoryChanged():
            _inventory(s, event, now, out)
        case AttemptEnded():
            return _ended(s, event, out)
        case LifecycleMoved():
            _moved(s, event)
        case Approved():
            incidents.approve(s.sick, event.person, now, out)
            return True
        case Directive():
            _directive(s, event, now, out)
        case Restate():
            return True
        case _:
            pass
    return False


def _fault(s: State, fault: Fault, now: datetime, out: list[Decision]) -> None:
    if s.seat is None or fault.seat.epoch > s.seat.epoch:
        _sit(s, fault.seat, now, out)
    assert s.seat is not None
    old_seat = fault.seat.epoch < s.seat.epoch
    if not old_seat:
        s.boots.learn_of(fault)
    stale = old_seat or s.retired or not s.boots.is_current(fault.boot_id)
    incidents.take(s.sick, fault, stale=stale, now=now, out=out)


def _inventory(s: State, change: InventoryChanged, now: datetime, out: list[Decision]) -> None:
    epoch, seated = (s.seat.epoch, s.seated) if s.seat is not None else (-1, None)
    if change.seat.epoch < epoch or (change.seat.epoch == epoch and seated is not None and change.time < seated):
        return
    if change.removed:
        if s.seat is None or s.seat.node == change.seat.node:
            s.present = False
        return
    _sit(s, change.seat, now, out)
    s.seated, s.present = change.time, True
    s.boots.learn(change.boot_id, change.time)


def _sit(s: State, seat: Seat, now: datetime, out: list[Decision]) -> None:
    """Takes the seat. Law: the same actor, a new seat; the old node's claim is withdrawn and nobody there is blamed."""
    old, s.seat = s.seat, seat
    if old is None or (old.node, old.slot) == (seat.node, seat.slot):
        return
    before, after = f"{old.node} {old.slot or ''}".strip(), f"{seat.node} {seat.slot or ''}".strip()
    text = f"moved from {before} to {after}"
    out.append(Note(OutcomeKind.RESEATED, name="reseated", text=text, before=before, after=after, cause=s.sick.cause()))
    s.retired = False
    if old.node == seat.node:
        return
    if s.claim is not None and (s.claim.rung is not None or s.claim.quarantine):
        s.revision = rising(s.revision, now)
        empty = Claim(claimant=s.entity, revision=s.revision, seat=old, because=text)
        out.append(Tell(Entity.node(old.node), empty))
    s.claim, s.repair, s.phase = None, None, None
    s.boots = Boots(earlier=[*s.boots.earlier, s.boots.current][-8:])
    for fault in s.sick.acting():
        fault.stale = True
    incidents.settle(s.sick, out)


def _ended(s: State, ended: AttemptEnded, out: list[Decision]) -> bool:
    if s.seat is not None and s.seat.node != ended.node:
        if s.repair == (ended.plan, ended.attempt):
            s.repair = s.phase = None
        return False
    s.boots.learn(ended.boot_id, ended.ended)
    if incidents.attempt_ended(s.sick, ended, out) and s.repair == (ended.plan, ended.attempt):
        s.repair = s.phase = None
    return True


def _moved(s: State, moved: LifecycleMoved) -> None:
    """Late ones are ignored: of an attempt that has ended, or a step that was passed."""
    attempt, phase = (moved.plan, moved.attempt), Lifecycle(moved.phase)
    if attempt in s.sick.answered or phase not in PHASES:
        return
    if s.repair == attempt and s.phase is not None and PHASES.index(phase) <= PHASES.index(s.phase):
        return
    if s.repair is not None and s.repair[0] == attempt[0] and s.repair[1] > attempt[1]:
        return
    s.repair, s.phase = attempt, phase


def _directive(s: State, said: Directive, now: datetime, out: list[Decision]) -> None:
    if said.id in s.directives:
        return
    s.directives = [*s.directives, said.id][-MAX_DIRECTIVES:]
    text = f"{said.person} said {said.order}" + (f": {said.reason}" if said.reason else "")
    out.append(Note(OutcomeKind.PERSON_SAID, name=said.order.value, text=text, cause=s.sick.cause()))
    match said.order:
        case Order.RELEASE:
            incidents.accept(s.sick, said.person, now, out)
            s.retired = False
        case Order.RETIRE:
            _retire(s, said, out)
        case Order.CORDON | Order.DRAIN if s.seat is not None:
            node = Entity.node(s.seat.node)
            out.append(Tell(node, said.model_copy(update={"entity": node, "id": f"{said.id}@{s.seat.node}"})))
        case _:
            pass


def _retire(s: State, said: Directive, out: list[Decision]) -> None:
    """Law: retiring names the seat and epoch that it ends, and is refused for any other."""
    if s.seat is None or (said.node, said.epoch) != (s.seat.node, s.seat.epoch):
        stands = f"{s.seat.node} since {s.seat.epoch}" if s.seat else "nowhere"
        text = f"refused: it names {said.node} since {said.epoch}, but the GPU stands at {stands}"
        out.append(Note(OutcomeKind.DECISION, name="retire_refused", text=text, result="refused"))
        return
    s.retired = True


def _reconcile(s: State, now: datetime, out: list[Decision], *, again: bool) -> None:
    if s.phase is None:
        incidents.forget_earlier_boots(s.sick, s.boots, out)
    if s.phase not in (Lifecycle.REPAIRING, Lifecycle.VALIDATING):
        incidents.settle(s.sick, out)
        _claim(s, now, out, again=again)
    elif again and s.claim is not None:
        out.append(Tell(Entity.node(s.claim.seat.node), s.claim))
    _move(s, out)


def _move(s: State, out: list[Decision]) -> None:
    incident = s.sick.incident
    if s.retired:
        target = Lifecycle.RETIRED
    elif incident is not None and incident.quarantined:
        target = Lifecycle.QUARANTINED
    elif s.phase is not None:
        target = s.phase
    elif incident is not None:
        target = Lifecycle.FAILED if s.sick.severity() is Severity.CRITICAL else Lifecycle.DEGRADED
    else:
        target = Lifecycle.HEALTHY
    plan, attempt = s.repair or (s.sick.answered[-1] if s.sick.answered else (None, None))
    cause = s.sick.cause(plan=plan, attempt=attempt)
    s.lifecycle = edges.move(s.lifecycle, target, out, cause, text=summary(s))


def _claim(s: State, now: datetime, out: list[Decision], *, again: bool) -> None:
    if s.seat is None:
        return
    need = Need() if s.retired or not s.present else s.sick.need()
    answered = s.sick.answered[-1] if s.sick.answered else None
    said = Claim(claimant=s.entity, revision=0, seat=s.seat, answered=answered, **dict(need))
    changed = said != (s.claim.model_copy(update={"revision": 0}) if s.claim is not None else None)
    if s.claim is None and not again and need.rung is None and not need.quarantine and answered is None:
        return
    if changed:
        s.revision = rising(s.revision, now)
        if _weight(said) != _weight(s.claim):
            out.append(_claimed(s, said))
        s.claim = said.model_copy(update={"revision": s.revision})
    if (changed or again) and s.claim is not None:
        out.append(Tell(Entity.node(s.seat.node), s.claim))


def _weight(claim: Claim | None) -> tuple[object, ...]:
    return (claim.rung, claim.quarantine, claim.fault_ids) if claim is not None else (None, False, ())


def _claimed(s: State, claim: Claim) -> Note:
    name = "quarantined" if claim.quarantine else "claimed" if claim.rung else "withdrawn"
    text = f"{claim.rung or 'nothing more'} from {claim.seat.node}" + (f": {claim.because}" if claim.because else "")
    details = {"rung": claim.rung, "attempts_left": claim.attempts_left, "revision": s.revision}
    return Note(OutcomeKind.DECISION, name=name, text=text, cause=s.sick.cause(), details=details)
