"""The node's brain: merges the claims on it into one plan, runs one attempt at a time, and alone hands the node back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gpuward.contracts.claims import (
    Claim,
    Denied,
    Explained,
    Granted,
    Held,
    Queued,
    Report,
    Restate,
    TokenRenewed,
)
from gpuward.contracts.directives import Directive
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity
from gpuward.contracts.inventory import InventoryChanged
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.contracts.remedies import Severity
from gpuward.contracts.seat import Seat
from gpuward.contracts.updates import Approve, PendingQuestion, Reject
from workflows.decide import attempts, edges, handback, incidents, orders, planning, quarantine, watching
from workflows.decide.decisions import Decision, LookAtRemediation, Note, Perform, Tell
from workflows.decide.events import Event, Looked, Performed, PersonSaid
from workflows.decide.memory import recall, rising
from workflows.decide.merging import merge, open_claims, quarantine_claims
from workflows.decide.node_state import WAITING, OpenPlan, State, Status

__all__ = ["State", "born", "check_approve", "decide", "lifecycle", "next_wake", "question", "summary"]

MAX_CLAIMS = 64


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    """Law: level-triggered. Events change what is known; what is done about it follows from the state as a whole."""
    s, ready, how = recall(state.copied(), events, born)
    if s.amnesiac:
        return s, []
    out: list[Decision] = []
    if how == "none":
        out.append(Note(OutcomeKind.BORN, name="born", text=f"{s.entity} is known from now on"))
    elif how == "found":
        _recalled(s, now, out)
    for event in ready:
        _take(s, event, now, out)
    _reconcile(s, now, out)
    return s, out


def next_wake(state: State) -> datetime | None:
    if state.amnesiac:
        return None
    wakes = [
        state.plan.wake if state.plan is not None else None,
        state.question.deadline if state.question is not None else None,
        state.remind if state.cordoned_by else None,
    ]
    return min((wake for wake in wakes if wake is not None), default=None)


def lifecycle(state: State) -> str:
    return state.lifecycle.value


def question(state: State) -> PendingQuestion | None:
    """What the node waits for a person to say."""
    return state.question


def check_approve(state: State, said: Approve | Reject, now: datetime | None = None) -> str | None:
    """Why the update is to be rejected, as a sentence; None when it may be taken."""
    return quarantine.check(state, said, now)


def summary(state: State) -> str:
    plan = state.plan
    if state.amnesiac:
        return state.unreadable or "recalling what it knew"
    if plan is not None:
        said = f"{plan.remedy}, attempt {plan.attempt}: {plan.status.replace('_', ' ')}"
        return f"{said}, {plan.reason}" if plan.reason else said
    if state.cordoned_by:
        return f"cordoned by {state.cordoned_by}"
    return state.noted or f"{state.lifecycle}"


def _recalled(s: State, now: datetime, out: list[Decision]) -> None:
    """Memory is back, perhaps a little old: look at what was open, ask everyone to say again what they need."""
    plan = s.plan
    if plan is not None and plan.status in (Status.RUNNING, Status.LOOKING):
        out.append(LookAtRemediation(watching.child_of(s, plan)))
    elif plan is not None and (plan.status in WAITING or plan.status is Status.ANSWERS):
        plan.wake = now
    if s.seat is not None:
        out.extend(Perform(action, handback.node_act(s, plan), tag) for tag, action in s.performing.items())
    s.told = None
    restate = Restate(guard=s.entity, id=str(int(now.timestamp() * 1000)))
    out.extend(Tell(Entity.gpu(gpu), restate) for gpu in s.gpus)


def _take(s: State, event: Event, now: datetime, out: list[Decision]) -> None:
    match event:
        case Claim():
            _claim(s, event)
        case Fault():
            _fault(s, event, now, out)
        case InventoryChanged():
            _inventory(s, event, out)
        case PersonSaid(said=Approve() | Reject() as answer):
            quarantine.said(s, answer, now, out)
        case Directive():
            orders.take(s, event, now, out)
        case Restate():
            _restate(s, event, now, out)
        case _:
            _take_answer(s, event, now, out)


def _take_answer(s: State, event: Event, now: datetime, out: list[Decision]) -> None:
    """What others say of the open plan and its attempt."""
    match event:
        case Held() | Explained() | Queued() | Denied():
            planning.answered(s, event, now, out)
        case Granted():
            attempts.granted(s, event, now, out)
        case TokenRenewed():
            attempts.renewed(s, event, out)
        case Report():
            attempts.reported(s, event, now, out)
        case Looked():
            watching.looked(s, event, now, out)
        case Performed():
            handback.performed(s, event, now, out)
        case _:
            pass


def _claim(s: State, claim: Claim) -> None:
    """Law: the newest claim per claimant counts, whatever the order in which they come."""
    name = str(claim.claimant)
    known = s.claims.get(name)
    if claim.seat.node != s.node or (known is not None and claim.revision <= known.revision):
        return
    if s.seat is None:
        s.seat = claim.seat.model_copy(update={"slot": None, "domain": None, "epoch": 0})
    s.claims[name] = claim
    while len(s.claims) > MAX_CLAIMS:
        idle = [key for key, kept in s.claims.items() if kept.rung is None and not kept.quarantine]
        del s.claims[next(iter(idle or s.claims))]


def _fault(s: State, fault: Fault, now: datetime, out: list[Decision]) -> None:
    if s.seat is None:
        s.seat = Seat.model_validate({**dict(fault.seat), "epoch": 0})
    s.boots.learn_of(fault)
    incidents.take(s.sick, fault, stale=s.retired or not s.boots.is_current(fault.boot_id), now=now, out=out)


def _inventory(s: State, change: InventoryChanged, out: list[Decision]) -> None:
    """Where it stands, under which boot, with which GPUs. A change is noted, so that a reloaded actor knows it too."""
    epoch = s.seat.epoch if s.seat is not None else -1
    if change.seat.epoch < epoch or (s.seated is not None and change.seat.epoch == epoch and change.time < s.seated):
        return
    if change.removed:
        s.present = False
        return
    if s.seat is not None and s.seated is not None and change.seat.epoch > epoch and change.seat.rack != s.seat.rack:
        s.retired = False
    before = (s.seat, s.boots.current, s.gpus)
    s.seat, s.seated, s.present = change.seat, change.time, True
    s.boots.learn(change.boot_id, change.time)
    listed = tuple(str(gpu.gpu) for gpu in change.gpus)
    for left in set(s.gpus) - set(listed):
        s.claims.pop(f"gpu/{left}", None)
    s.gpus = listed
    if before != (s.seat, s.boots.current, s.gpus):
        text = f"rack {s.seat.rack}, boot {s.boots.current}, {len(s.gpus)} GPUs"
        out.append(Note(OutcomeKind.RECORDED, name="inventory", text=text))


def _restate(s: State, asked: Restate, now: datetime, out: list[Decision]) -> None:
    """The rack asks on behalf of a guard that has lost its memory: what is asked for, and which token is held."""
    if s.rack is None:
        return
    if s.plan is None:
        s.availability_revision = rising(s.availability_revision, now)
        out.append(Tell(s.rack, handback.availability(s, restate=asked.id)))
    else:
        token = s.plan.token if s.plan.cordon_left else None
        said = s.as_plan(s.plan).model_copy(update={"token": token, "restate": asked.id})
        out.append(Tell(s.rack, said))


def _reconcile(s: State, now: datetime, out: list[Decision]) -> None:
    acting = s.plan is not None and s.plan.status is Status.RUNNING and s.plan.acted
    if not acting:
        if s.plan is None or s.plan.status is not Status.RUNNING:
            incidents.forget_earlier_boots(s.sick, s.boots, out)
        incidents.settle(s.sick, out)
    cause = s.cause()
    if s.plan is not None:
        _work(s, s.plan, now, out)
    if s.plan is None and not s.cordoned_by and not s.retired:
        planning.open_plan(s, now, out)
    quarantine.default_at_deadline(s, now, out)
    orders.remind(s, now, out)
    handback.say_available(s, now, out)
    _move(s, out, cause if s.plan is None else s.cause())


def _work(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """One step of the open plan, from where it stands."""
    if plan.status in (Status.RUNNING, Status.LOOKING):
        if plan.status is Status.RUNNING:
            attempts.join(s, plan, out)
        result = watching.due(s, plan, now, out)
        if result is not None:
            attempts.end(s, plan, result, now, out, why="its child is gone and has not reported")
    if plan.status in WAITING:
        if merge(s) is not None and not s.cordoned_by and not s.retired:
            planning.keep_up(s, plan, now, out)
        elif not plan.ran:
            planning.withdraw(s, plan, now, out)
        else:
            _settle(s, plan, now, out)
    elif plan.status is Status.ANSWERS:
        attempts.strike_off(s, plan)
        if plan.unanswered:
            attempts.tell_again(plan, now, out)
        else:
            _settle(s, plan, now, out)
    elif plan.status is Status.QUARANTINED and (s.retired or not (quarantine_claims(s) or plan.unproven)):
        _settle(s, plan, now, out)


def _settle(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """Every claimant has spoken: into quarantine, the next attempt, or back into service."""
    if not s.retired and (quarantine_claims(s) or (plan.unproven and not open_claims(s))):
        quarantine.enter(s, plan, now, out)
    elif open_claims(s) and not s.cordoned_by and not s.retired:
        planning.next_attempt(s, plan, now, out)
        s.question = None
    else:
        handback.hand_back(s, plan, now, out)


def _move(s: State, out: list[Decision], cause: Cause) -> None:
    plan = s.plan
    target = s.lifecycle
    if plan is not None and plan.status is Status.QUARANTINED:
        target = Lifecycle.QUARANTINED
    elif plan is not None and plan.status is Status.RUNNING:
        target = plan.phase or _unwell(s)
    elif plan is not None and plan.status in WAITING:
        target = _unwell(s)
    elif plan is None:
        target = _idle(s)
    s.lifecycle = edges.move(s.lifecycle, target, out, cause, text=summary(s))


def _idle(s: State) -> Lifecycle:
    if s.retired:
        return Lifecycle.RETIRED
    if s.cordoned_by:
        return Lifecycle.MAINTENANCE
    return _unwell(s) if merge(s) is not None else Lifecycle.HEALTHY


def _unwell(s: State) -> Lifecycle:
    own_critical = s.sick.incident is not None and s.sick.severity() is Severity.CRITICAL
    return Lifecycle.FAILED if own_critical else Lifecycle.DEGRADED
