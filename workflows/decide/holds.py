"""Plans of nodes at their rack: held for an explanation, explained away, or asked of the pool guard."""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.acts import PersonAsked
from gpuward.contracts.claims import Explained, Held, Plan
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.contracts.remedies import HoldClass
from workflows.decide.decisions import Decision, Note, Perform, Tell
from workflows.decide.rack_state import Member, PlanStatus, RackIncident, RackPlan, State

PERSON_DEADLINE_S = 86400.0
MAX_WITHDRAWN = 32
DEFAULT = "each node is then repaired on its own, as the pool's budget allows"


def take_plan(s: State, plan: Plan, now: datetime, out: list[Decision]) -> None:
    """Takes in a plan. Law: asking again returns the same answer; an older revision changes nothing."""
    node = str(plan.node)
    known = s.plans.get(node)
    if _is_old(s, plan, known):
        return
    s.members.setdefault(node, Member(pool=str(plan.seat.pool or "")))
    if plan.withdrawn:
        _withdraw(s, plan, known, now, out)
        return
    if plan.token is not None:
        s.plans[node] = RackPlan(plan=plan, status=PlanStatus.ASKED)
        return
    incident = next((incident for incident in s.incidents.values() if incident.explains(plan)), None)
    same = known is not None and (known.plan.plan, known.plan.attempt) == (plan.plan, plan.attempt)
    if incident is not None:
        s.plans[node] = RackPlan(plan=plan, status=PlanStatus.EXPLAINED)
        _explain(
            s.plans[node], incident, out, again=same and known is not None and known.status is PlanStatus.EXPLAINED
        )
    elif known is not None and same and known.status is PlanStatus.HELD and plan.hold is HoldClass.RACK:
        known.plan = plan
        _say_held(known, out)
    elif plan.hold is HoldClass.RACK and plan.attempt == 1 and not same:
        s.plans[node] = RackPlan(plan=plan, status=PlanStatus.HELD, until=now + timedelta(seconds=plan.hold_s))
        _say_held(s.plans[node], out)
        out.append(_note("held", s.plans[node], f"waits {plan.hold_s:g} s for an explanation by the rack"))
    else:
        held = known.plan.token if known is not None and same else None
        s.plans[node] = RackPlan(plan=plan.model_copy(update={"token": held}), status=PlanStatus.ASKED)
        if not same or (known is not None and known.status is not PlanStatus.ASKED):
            out.append(_note("asked", s.plans[node], f"asked of pool/{plan.seat.pool}"))
        s.ask(plan, now, out)


def _is_old(s: State, plan: Plan, known: RackPlan | None) -> bool:
    """Whether the node has said something newer. The withdrawal of another plan than the known one is always new."""
    if plan.plan in s.handed_back or plan.revision <= s.withdrawn.get(plan.plan, -1):
        return True
    if known is None or (plan.withdrawn and known.plan.plan != plan.plan):
        return False
    return plan.revision < known.plan.revision


def _withdraw(s: State, plan: Plan, known: RackPlan | None, now: datetime, out: list[Decision]) -> None:
    s.withdrawn[plan.plan] = plan.revision
    while len(s.withdrawn) > MAX_WITHDRAWN:
        del s.withdrawn[next(iter(s.withdrawn))]
    if known is not None and known.plan.plan == plan.plan:
        del s.plans[str(plan.node)]
    s.ask(plan, now, out)


def end_holds(s: State, now: datetime, out: list[Decision]) -> None:
    """A hold that nobody explained goes on to the pool guard."""
    for held in s.plans.values():
        if held.status is PlanStatus.HELD and held.until is not None and now >= held.until:
            held.status, held.until = PlanStatus.ASKED, None
            out.append(_note("asked", held, "no explanation by the rack"))
            s.ask(held.plan, now, out)


def take_fault(s: State, fault: Fault, now: datetime, out: list[Decision]) -> None:
    """A fault of the rack or of a domain in it. Law: a revision that is not newer is ignored."""
    last = s.seen.get(fault.fault_class)
    if last is not None and fault.revision <= last:
        return
    s.seen[fault.fault_class] = fault.revision
    if fault.phase == "cleared":
        _close(s, fault, now, out)
    elif fault.children:
        _open(s, fault, now, out)
    elif fault.fault_class not in s.incidents:
        cause = Cause(fault_ids=(fault.fault_id,), evidence=fault.evidence, policy=fault.verdict.policy)
        text = f"{fault.fault_class}: {fault.verdict.because}"
        out.append(Note(OutcomeKind.RECORDED, name="observed", text=text, cause=cause))


def expire(s: State, now: datetime, out: list[Decision]) -> None:
    """Law: nothing waits for a person without a deadline and a default."""
    for incident in s.incidents.values():
        if not incident.expired and now >= incident.deadline:
            incident.expired = True
            text = f"nobody answered in time: {DEFAULT}"
            out.append(Note(OutcomeKind.DECISION, name="default_taken", text=text, cause=incident.cause))
            _unexplain(s, now, 0.0, out)


def _open(s: State, fault: Fault, now: datetime, out: list[Decision]) -> None:
    known = s.incidents.get(fault.fault_class)
    deadline = known.deadline if known is not None else now + timedelta(seconds=PERSON_DEADLINE_S)
    incident = RackIncident(
        fault_id=fault.fault_id,
        fault_class=fault.fault_class,
        severity=fault.verdict.severity,
        children=tuple(str(child) for child in fault.children),
        because=fault.verdict.because,
        evidence=fault.evidence[:3],
        policy=fault.verdict.policy,
        deadline=deadline,
        expired=known is not None and known.expired,
    )
    s.incidents[fault.fault_class] = incident
    if known is None:
        _ask_person(s, incident, out)
    for held in s.plans.values():
        if held.status is not PlanStatus.EXPLAINED and incident.explains(held.plan):
            if held.status is PlanStatus.ASKED:
                s.ask(held.plan.model_copy(update={"withdrawn": True, "revoked": True}), now, out)
            held.status, held.until = PlanStatus.EXPLAINED, None
            _explain(held, incident, out, again=False)


def _ask_person(s: State, incident: RackIncident, out: list[Decision]) -> None:
    text = f"{incident.fault_class} on {s.entity} explains {len(incident.children)} entities: {incident.because}"
    details = {"fault_class": incident.fault_class, "children": list(incident.children)}
    out.append(Note(OutcomeKind.INCIDENT_OPENED, name="opened", text=text, cause=incident.cause, details=details))
    asked = {"deadline": incident.deadline.isoformat(), "default": DEFAULT}
    out.append(Note(OutcomeKind.PERSON_ASKED, name="rack", text=text, cause=incident.cause, details=asked))
    request = PersonAsked(entity=s.entity, plan="", attempt=0, text=text, deadline=incident.deadline, default=DEFAULT)
    out.append(Perform("notify.person", request, f"notify|{incident.fault_id}"))


def _close(s: State, fault: Fault, now: datetime, out: list[Decision]) -> None:
    incident = s.incidents.pop(fault.fault_class, None)
    if incident is None:
        return
    text = fault.cleared_because or "cleared"
    details = {"fault_class": incident.fault_class}
    out.append(
        Note(
            OutcomeKind.INCIDENT_CLOSED,
            name="cleared",
            text=text,
            result="cleared",
            cause=incident.cause,
            details=details,
        )
    )
    _unexplain(s, now, None, out)


def _unexplain(s: State, now: datetime, hold_s: float | None, out: list[Decision]) -> None:
    """What is not explained any more is held once more, since its own fault may be about to clear too."""
    for held in s.plans.values():
        if held.status is not PlanStatus.EXPLAINED or any(i.explains(held.plan) for i in s.incidents.values()):
            continue
        seconds = held.plan.hold_s if hold_s is None else hold_s
        held.status, held.until = PlanStatus.HELD, now + timedelta(seconds=seconds)
        _say_held(held, out)


def _say_held(held: RackPlan, out: list[Decision]) -> None:
    assert held.until is not None
    said = Held(plan=held.plan.plan, attempt=held.plan.attempt, until=held.until)
    out.append(Tell(Entity.node(held.plan.node), said))


def _explain(held: RackPlan, incident: RackIncident, out: list[Decision], *, again: bool) -> None:
    said = Explained(plan=held.plan.plan, attempt=held.plan.attempt, incident=incident.fault_id)
    out.append(Tell(Entity.node(held.plan.node), said))
    if not again:
        out.append(_note("explained", held, f"explained by {incident.fault_class}"))


def _note(name: str, held: RackPlan, text: str) -> Note:
    plan = held.plan
    cause = Cause(fault_ids=plan.fault_ids, plan=plan.plan, attempt=plan.attempt)
    details = {"node": str(plan.node), "remedy": plan.remedy.value}
    return Note(
        OutcomeKind.DECISION, name=name, text=f"{plan.remedy} of {plan.node}: {text}", cause=cause, details=details
    )
