"""Opens, raises, asks for and withdraws the node's one plan, until an attempt of it runs.

Claims of a node climb as one plan: node → rack → pool guard; what comes back is a hold, an explanation, or a grant.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

from gpuward.contracts.claims import AttemptResult, Denied, Explained, Held, Queued
from gpuward.contracts.outcomes import OutcomeKind
from workflows.decide.decisions import Decision, LookAtRemediation, Note, Tell
from workflows.decide.memory import rising
from workflows.decide.merging import Merged, merge
from workflows.decide.node_state import MAX_PATIENCE_S, PATIENCE_S, WAITING, OpenPlan, State, Status
from workflows.decide.watching import child_of

RETRY_S = 20.0


def open_plan(s: State, now: datetime, out: list[Decision]) -> None:
    """Opens a plan where something is needed. Law: a node without rack, pool or provable address is watch-only."""
    need = merge(s)
    if need is None:
        s.noted = ""
        return
    if s.seat is None or not s.seat.actionable or not s.present:
        _watch_only(s, need, out)
        return
    s.started += 1
    plan = OpenPlan(id=_plan_id(s, now), revision=rising(0, now), opened=now, boot_id=need.boot_id, remedy=need.remedy)
    _fit(plan, need)
    s.plan = plan
    out.append(_planned(s, "planned", need))
    ask(s, plan, now, out)


def keep_up(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """A waiting plan follows the claims: raised under the same id, asked again when due."""
    need = merge(s)
    assert need is not None
    before = (plan.remedy, plan.gpus, plan.boot_id)
    if _fit(plan, need):
        s.next_revision(plan, now)
        if (plan.remedy, plan.gpus, plan.boot_id) != before:
            out.append(_planned(s, "raised", need))
        ask(s, plan, now, out)
    elif plan.wake is not None and now >= plan.wake:
        ask(s, plan, now, out)


def ask(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """Says the plan to the rack; saying it again is harmless and brings the same answer."""
    if plan.status in (Status.EXPLAINED, Status.DENIED):
        plan.status = Status.ASKING
    plan.wait(now)
    if s.rack is not None:
        out.append(Tell(s.rack, s.as_plan(plan)))


def next_attempt(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """The claimants want more: the next attempt of the same plan, under the same cordon and slot.

    After one that sent nothing the next is asked for a little later, so that what refused it can pass.
    """
    need = merge(s)
    assert need is not None
    nothing_sent = plan.ended is not None and plan.ended.result in (AttemptResult.REFUSED, AttemptResult.REVOKED)
    plan.attempt += 1
    plan.status, plan.reason, plan.patience_s = Status.ASKING, "", PATIENCE_S
    plan.ended, plan.claimants, plan.unanswered, plan.phase = None, (), (), None
    plan.acted = plan.sought = False
    _fit(plan, need)
    s.next_revision(plan, now)
    out.append(_planned(s, "planned", need))
    if nothing_sent:
        plan.wake = now + timedelta(seconds=RETRY_S * plan.attempt)
    else:
        ask(s, plan, now, out)


def withdraw(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """Nothing is needed any more, and nothing was started under this plan."""
    s.next_revision(plan, now)
    out.append(Note(OutcomeKind.DECISION, name="withdrawn", text="nothing is needed any more", cause=s.cause()))
    if s.rack is not None:
        out.append(Tell(s.rack, s.as_plan(plan, withdrawn=True)))
    s.plan = None


def answered(s: State, answer: Held | Explained | Queued | Denied, now: datetime, out: list[Decision]) -> None:
    """What rack or guard said instead of a grant."""
    plan = s.plan
    if plan is None or (answer.plan, answer.attempt) != (plan.id, plan.attempt):
        return
    if isinstance(answer, Explained) and plan.status is Status.RUNNING and not plan.acted:
        out.append(Tell(child_of(s, plan), answer))
    if plan.status not in WAITING:
        return
    match answer:
        case Held():
            plan.status, plan.reason = Status.HELD, "held by the rack"
            plan.wake, plan.patience_s = answer.until + timedelta(seconds=PATIENCE_S), PATIENCE_S
        case Explained():
            plan.status, plan.reason = Status.EXPLAINED, f"explained by {answer.incident}"
            plan.wake = now + timedelta(seconds=MAX_PATIENCE_S)
            if plan.ran and not plan.cordon_left and s.rack is not None:
                out.append(Tell(s.rack, s.as_plan(plan, withdrawn=True)))
                s.next_revision(plan, now)
        case Queued():
            plan.status, plan.reason = Status.QUEUED, answer.reason
        case Denied():
            plan.status, plan.reason = Status.DENIED, answer.reason
            if answer.open_plan is not None and answer.open_plan != plan.id:
                _adopt(s, plan, answer, now, out)


def _adopt(s: State, plan: OpenPlan, answer: Denied, now: datetime, out: list[Decision]) -> None:
    """The guard knows an open plan of this node that the node has forgotten: go on with that one, after a look."""
    assert answer.open_plan is not None
    plan.id, plan.attempt = answer.open_plan, answer.open_attempt or 1
    plan.status, plan.ran, plan.cordon_left, plan.unproven = Status.LOOKING, True, True, True
    plan.wake = now + timedelta(seconds=MAX_PATIENCE_S)
    s.next_revision(plan, now)
    text = f"goes on with {plan.id}, which the pool guard knows"
    out.append(Note(OutcomeKind.DECISION, name="adopted", text=text, cause=s.cause()))
    out.append(LookAtRemediation(child_of(s, plan)))


def _fit(plan: OpenPlan, need: Merged) -> bool:
    """Makes the plan what is needed; True when that changed it."""
    names = ("remedy", "gpus", "hold", "hold_s", "priority", "fault_ids", "boot_id")
    changed = any(getattr(plan, name) != getattr(need, name) for name in names)
    for name in names:
        setattr(plan, name, getattr(need, name))
    return changed


def _plan_id(s: State, now: datetime) -> str:
    said = f"{s.entity}|{int(now.timestamp() * 1000)}|{s.started}"
    return blake2b(said.encode(), digest_size=6).hexdigest()


def _planned(s: State, name: str, need: Merged) -> Note:
    details = {"remedy": need.remedy.value, "gpus": list(need.concerned), "claimants": list(need.claimants)}
    return Note(
        OutcomeKind.DECISION, name=name, text=f"{need.remedy}: {need.because}", cause=s.cause(), details=details
    )


def _watch_only(s: State, need: Merged, out: list[Decision]) -> None:
    seat = s.seat
    lacks = [
        what
        for what, there in (
            ("rack", seat and seat.rack),
            ("pool", seat and seat.pool),
            ("provider", seat and seat.address.provider),
            ("SMBIOS UUID", seat and seat.address.smbios_uuid),
        )
        if not there
    ]
    said = f"{need.remedy} is needed, but this node is only watched: no {', no '.join(lacks) or 'seat'}"
    if said != s.noted:
        s.noted = said
        out.append(Note(OutcomeKind.DECISION, name="watch_only", text=said, cause=s.cause()))
