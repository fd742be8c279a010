"""Keeps an eye on the attempt that runs: its absolute deadline, and what to believe when its child is gone.

Law: a node never waits for a child without a deadline; at it, it looks, and takes over what has ended without a word.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import AttemptResult, Plan
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.remedies import Remedy
from workflows.decide.decisions import Decision, LookAtRemediation, Note, Tell
from workflows.decide.events import Looked
from workflows.decide.memory import rising
from workflows.decide.merging import open_claims
from workflows.decide.node_state import OpenPlan, State, Status

LOOK_AGAIN_S = 600.0
GRACE_S = 60.0
"""How long a report may still be on its way after its child was seen to have ended."""


def child_of(s: State, plan: OpenPlan) -> Entity:
    return Entity.remediation(s.node, plan.id, plan.attempt)


def looked(s: State, answer: Looked, now: datetime, out: list[Decision]) -> None:
    """Takes in what a look found. An adopted attempt is taken to be for every open claim, and to have acted."""
    plan = s.plan
    if plan is None or answer.remediation != child_of(s, plan):
        if answer.status == "missing":
            _disown(s, answer.remediation, now, out)
        return
    if plan.status is Status.LOOKING and answer.status == "missing":
        plan.status = Status.ANSWERS
    elif plan.status is Status.LOOKING:
        plan.status, plan.wake = Status.RUNNING, now + timedelta(seconds=s.limits.remediation_deadline_s)
        plan.claimants, plan.acted = tuple(open_claims(s)), True
        if answer.status == "closed":
            plan.sought, plan.wake = True, now + timedelta(seconds=GRACE_S)
    elif plan.status is Status.RUNNING:
        if answer.status == "running":
            plan.wake = now + timedelta(seconds=LOOK_AGAIN_S)
            if not plan.reason:
                plan.reason = "the attempt runs past its deadline"
                text = f"{plan.reason}; it is looked at every ten minutes"
                out.append(Note(OutcomeKind.ALARM, name="overdue", text=text, cause=s.cause()))
        elif not plan.sought:
            plan.sought, plan.wake = True, now + timedelta(seconds=GRACE_S)


def _disown(s: State, remediation: Entity, now: datetime, out: list[Decision]) -> None:
    """A grant for a plan that is not open and never ran: tell the guard, so that its slot comes free."""
    plan_id, attempt = remediation.name.split("/")[-2:]
    if s.rack is None or s.seat is None or (s.plan is not None and s.plan.id == plan_id):
        return
    gone = Plan(
        plan=plan_id,
        revision=rising(0, now),
        node=s.seat.node,
        seat=s.seat,
        boot_id="",
        remedy=Remedy.OBSERVE,
        attempt=int(attempt),
        withdrawn=True,
    )
    out.append(Tell(s.rack, gone))


def due(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> AttemptResult | None:
    """At the deadline of an attempt: looks; `UNKNOWN` when its child is gone and has said nothing."""
    if plan.wake is None or now < plan.wake:
        return None
    if plan.sought:
        return AttemptResult.UNKNOWN
    plan.wake = now + timedelta(seconds=LOOK_AGAIN_S)
    out.append(LookAtRemediation(child_of(s, plan)))
    return None
