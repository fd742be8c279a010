"""A node that is kept out of service until a person says more, and what the person can say.

Law: nothing waits for a person without a deadline and a default. The default is the safe one: it stays out.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.acts import PersonAsked
from gpuward.contracts.claims import Approved
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.remedies import Remedy
from gpuward.contracts.updates import Approve, PendingQuestion, Reject
from workflows.decide import incidents
from workflows.decide.decisions import Decision, Note, Perform, Tell
from workflows.decide.handback import node_act, perform
from workflows.decide.merging import quarantine_claims
from workflows.decide.node_state import OpenPlan, State, Status

DEFAULT = "it stays in quarantine"


def enter(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """Keeps the node cordoned and its slot charged, and asks a person."""
    asked_already = plan.ended is not None and plan.ended.remedy is Remedy.ASK_PERSON
    if not plan.cordon_left:
        perform(s, "node.cordon", node_act(s, plan), out)
        plan.cordon_left = True
    claims = quarantine_claims(s)
    because = next((claim.because for claim in claims.values() if claim.because), "")
    plan.status = Status.QUARANTINED
    plan.reason = because or "its repair was not validated"
    plan.wake = None
    rungs = [claim.ladder[0] for claim in claims.values() if claim.ladder]
    then = f"try {max(rungs, key=lambda rung: rung.rank)}" if rungs else "hand it back as it is"
    reason = plan.reason.rstrip(".")
    text = f"{s.entity} is in quarantine: {reason}. Approve: {then}; reject: keep it out."
    deadline = now + timedelta(seconds=s.limits.person_deadline_s)
    s.question = PendingQuestion(plan=plan.id, attempt=plan.attempt, text=text, deadline=deadline, default=DEFAULT)
    details = {"deadline": deadline.isoformat(), "default": DEFAULT}
    out.append(Note(OutcomeKind.PERSON_ASKED, name="quarantined", text=text, cause=s.cause(), details=details))
    if not asked_already:
        request = PersonAsked(
            entity=s.entity, plan=plan.id, attempt=plan.attempt, text=text, deadline=deadline, default=DEFAULT
        )
        out.append(Perform("notify.person", request, f"notify|{plan.id}|{plan.attempt}"))


def default_at_deadline(s: State, now: datetime, out: list[Decision]) -> None:
    if s.question is not None and now >= s.question.deadline:
        s.question = None
        text = f"nobody answered in time: {DEFAULT}"
        out.append(Note(OutcomeKind.DECISION, name="default_taken", text=text, cause=s.cause()))


def check(s: State, said: Approve | Reject, now: datetime | None) -> str | None:
    """Why an answer cannot be taken; None when it can. Law: an approval names plan and attempt, and expires."""
    if s.amnesiac:
        return f"{s.entity} is still recalling what it knew; ask again in a moment"
    if s.question is None:
        return f"{s.entity} asks nothing"
    if (said.plan, said.attempt) != (s.question.plan, s.question.attempt):
        return f"{s.entity} asks about {s.question.plan}/{s.question.attempt}, not {said.plan}/{said.attempt}"
    if now is not None and now >= s.question.deadline:
        return f"the question expired at {s.question.deadline.isoformat()}"
    return None


def said(s: State, answer: Approve | Reject, now: datetime, out: list[Decision]) -> None:
    """Approve: each claimant in quarantine may try its next rung, or is accepted. Reject: it stays out, for good."""
    if check(s, answer, None) is not None or s.plan is None:
        return
    verb = "approved" if isinstance(answer, Approve) else "rejected"
    s.question = None
    text = f"{answer.person} {verb}" + (f": {answer.reason}" if answer.reason else "")
    out.append(Note(OutcomeKind.PERSON_SAID, name=verb, text=text, cause=s.cause()))
    if isinstance(answer, Reject):
        return
    s.plan.unproven = False
    approved = Approved(plan=answer.plan, attempt=answer.attempt, person=answer.person)
    for name in quarantine_claims(s):
        if name == str(s.entity):
            incidents.approve(s.sick, answer.person, now, out)
        else:
            out.append(Tell(Entity(name), approved))
