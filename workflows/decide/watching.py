"""Keeps an eye on the attempt that runs: its absolute deadline, and what to believe when its child is gone.

Law: a node never waits for a child without a deadline; at it, it looks, and takes over what has ended without a word.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import AttemptResult
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from workflows.decide.decisions import Decision, LookAtRemediation, Note
from workflows.decide.events import Looked
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
            text = "the attempt runs past its deadline; it is looked at again in ten minutes"
            out.append(Note(OutcomeKind.ALARM, name="overdue", text=text, cause=s.cause()))
        elif not plan.sought:
            plan.sought, plan.wake = True, now + timedelta(seconds=GRACE_S)


def due(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> AttemptResult | None:
    """At the deadline of an attempt: looks; `UNKNOWN` when its child is gone and has said nothing."""
    if plan.wake is None or now < plan.wake:
        return None
    if plan.sought:
        return AttemptResult.UNKNOWN
    plan.wake = now + timedelta(seconds=LOOK_AGAIN_S)
    out.append(LookAtRemediation(child_of(s, plan)))
    return None
