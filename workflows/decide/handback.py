"""Gives a node back, and says to the rack whether it is available.

Law: only the node actor hands a node back, when no claim is open, and after validation or a person's word.
Law: gpuward never undoes a cordon that it did not make: `node.uncordon` gives back ours alone.
"""

from __future__ import annotations

from datetime import datetime

from gpuward.contracts.acts import NodeAct
from gpuward.contracts.claims import Available
from gpuward.contracts.identity import NodeId
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.remedies import Severity
from workflows.decide.decisions import Decision, Note, Perform, Tell
from workflows.decide.events import Performed
from workflows.decide.memory import rising
from workflows.decide.node_state import OpenPlan, State, Status


def node_act(s: State, plan: OpenPlan | None) -> NodeAct:
    """The request of cordon and uncordon: acts of the node actor itself, which need no token."""
    assert s.seat is not None
    return NodeAct(
        node=s.seat.node,
        seat=s.seat,
        plan=plan.id if plan is not None else "",
        attempt=plan.attempt if plan is not None else 0,
        boot_id=s.boots.current,
        guard=s.guard,
        limits=s.limits,
    )


def perform(s: State, action: str, request: NodeAct, out: list[Decision]) -> None:
    """Asks for the action and remembers that it has not answered."""
    s.performed += 1
    tag = f"{action}|{request.plan}|{s.performed}"
    s.performing[tag] = action
    out.append(Perform(action, request, tag))


def hand_back(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """Begins to give the node back. A person's own cordon stays: then only the slot is given back."""
    s.question = None
    plan.status, plan.wake, plan.reason = Status.HANDING_BACK, None, ""
    if s.cordoned_by or s.retired:
        finish(s, plan, now, out)
    else:
        perform(s, "node.uncordon", node_act(s, plan), out)


def performed(s: State, answer: Performed, now: datetime, out: list[Decision]) -> None:
    """Takes in how a cordon or an uncordon ended."""
    action = s.performing.pop(answer.tag, None)
    if action is None:
        return
    if not answer.ok:
        text = f"{action} failed: {answer.reason}"
        out.append(Note(OutcomeKind.ALARM, name=action, text=text, result="failed", cause=s.cause()))
    already = str(answer.result.get("already") or "")
    if answer.ok:
        s.elsewhere = already
    plan = s.plan
    if action == "node.uncordon" and plan is not None and plan.status is Status.HANDING_BACK:
        finish(s, plan, now, out)


def finish(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """The node is back: its slot is free again."""
    text = f"handed back after {plan.attempt} attempt{'s' if plan.attempt > 1 else ''}"
    if s.elsewhere:
        text += f"; the cordon of {s.elsewhere} stays"
    out.append(Note(OutcomeKind.DECISION, name="handed_back", text=text, cause=s.cause()))
    s.plan, s.question = None, None
    say_available(s, now, out, handed_back=plan.id)


def say_available(s: State, now: datetime, out: list[Decision], handed_back: str | None = None) -> None:
    """Says the level to the rack, on change."""
    if s.rack is None or s.seat is None:
        return
    available, cause = _availability(s)
    told = (str(s.rack), available, cause)
    if told == s.told and handed_back is None:
        return
    s.told, s.availability_revision = told, rising(s.availability_revision, now)
    out.append(Tell(s.rack, availability(s, handed_back)))


def availability(s: State, handed_back: str | None = None, *, restate: str = "") -> Available:
    """The level as last said."""
    available, cause = (s.told[1], s.told[2]) if s.told is not None else _availability(s)
    return Available(
        node=NodeId(s.node),
        revision=s.availability_revision,
        available=available,
        cause=cause,
        handed_back=handed_back,
        pool=s.seat.pool if s.seat is not None else None,
        idle=bool(restate),
        restate=restate,
    )


def _availability(s: State) -> tuple[bool, str]:
    """A node under repair is charged at the guard, which counts it; here stand the other causes."""
    cause = ""
    if s.retired or not s.present:
        cause = "retired" if s.retired else "gone from the inventory"
    elif s.plan is not None and s.plan.status is Status.QUARANTINED:
        cause = "quarantined"
    elif s.cordoned_by:
        cause = f"cordoned by {s.cordoned_by}"
    elif s.elsewhere:
        cause = f"cordoned by {s.elsewhere}"
    elif s.sick.incident is not None and s.sick.severity() is Severity.CRITICAL:
        cause = s.sick.incident.root
    return not cause, cause
