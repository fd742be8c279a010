"""A pool guard has lost its memory and asks what the rack holds; the rack asks its members and answers for them.

Law: a node that does not answer in time is answered for as charged, so that a guard never forgets a node under repair.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import Plan, Restate, Token
from gpuward.contracts.identity import Entity, NodeId
from workflows.decide.decisions import Decision, Tell
from workflows.decide.rack_state import PlanStatus, RackPlan, Restating, State

WAIT_S = 60.0
UNKNOWN_TOKEN = Token(0, 0)
"""Stands for a token that nobody could name: its slot is taken, and nothing can begin under it."""


def begin(s: State, asked: Restate, now: datetime, out: list[Decision]) -> None:
    """Asks every member in the guard's pool."""
    pool = asked.guard.name
    members = tuple(name for name, member in sorted(s.members.items()) if member.pool == pool)
    s.restating[pool] = Restating(
        guard=asked.guard, id=asked.id, unanswered=members, deadline=now + timedelta(seconds=WAIT_S)
    )
    ask_members(s, members, asked.id, out)


def ask_members(s: State, members: tuple[str, ...], restate_id: str, out: list[Decision]) -> None:
    out.extend(Tell(Entity.node(node), Restate(guard=s.entity, id=restate_id)) for node in members)


def heard(s: State, node: str, restate_id: str) -> None:
    """The node has said its plan, or that it has none. A late answer to an earlier question does not count."""
    for restating in s.restating.values():
        if restating.id != restate_id:
            continue
        restating.unanswered = tuple(name for name in restating.unanswered if name != node)


def finish(s: State, now: datetime, out: list[Decision]) -> None:
    """Answers each guard whose members have all spoken, or whose time is up."""
    for pool, restating in list(s.restating.items()):
        if restating.unanswered and now < restating.deadline:
            continue
        del s.restating[pool]
        inside = {node: held for node, held in s.plans.items() if str(held.plan.seat.pool) == pool}
        tokens: dict[NodeId, tuple[str, int, Token]] = {}
        plans: list[Plan] = []
        for node, held in inside.items():
            token = held.plan.token or (UNKNOWN_TOKEN if _maybe_charged(held, node, restating) else None)
            if token is not None:
                tokens[NodeId(node)] = (held.plan.plan, held.plan.attempt, token)
            elif held.status is PlanStatus.ASKED:
                plans.append(held.plan)
        said = s.stamped(pool, now).model_copy(
            update={"restated": True, "restate": restating.id, "plans": tuple(plans), "tokens": tokens}
        )
        out.append(Tell(restating.guard, said))


def _maybe_charged(held: RackPlan, node: str, restating: Restating) -> bool:
    return held.status is PlanStatus.ASKED and node in restating.unanswered
