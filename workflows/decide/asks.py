"""Asks at the pool guard: taken in, kept in line by priority, granted when nothing speaks against it.

Law: an ask has an id (plan, attempt), and asking again returns the same answer.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import Ask, Denied, Granted, Plan, Queued, Token
from gpuward.contracts.identity import Entity
from gpuward.contracts.messages import Message
from gpuward.contracts.outcomes import Cause, OutcomeKind
from workflows.decide import budget
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.fsm import may_grant
from workflows.decide.slots import FREE, Asked, Slot, SlotStatus, State, free, moved

MAX_ORDERS = 256
MAX_WOULD = 64


def take(s: State, ask: Ask, now: datetime, out: list[Decision]) -> None:
    """Takes in one ask. Late ones (older than what the rack said of this node since) change nothing."""
    plan, node, order = ask.plan, str(ask.plan.node), ask.availability.revision
    if order < s.orders.get(node, -1) or _is_closed(s, plan, order):
        return
    s.orders.pop(node, None)
    s.orders[node] = order
    while len(s.orders) > MAX_ORDERS:
        del s.orders[next(iter(s.orders))]
    if plan.withdrawn:
        _withdraw(s, plan, order, out)
        return
    slot = s.slots.get(node)
    domains = tuple(str(domain) for domain in ask.availability.domains.get(plan.node, ()))
    if slot is None or slot.asked.plan == plan.plan:
        _take_in(s, slot, Asked.of(plan, domains, now), now, out)
        return
    reason = f"{node} has plan {slot.asked.plan} open"
    _tell(plan, Denied(
        plan=plan.plan, attempt=plan.attempt, reason=reason, open_plan=slot.asked.plan, open_attempt=slot.asked.attempt
    ), out)  # fmt: skip


def serve(s: State, now: datetime, out: list[Decision]) -> None:
    """Grants whatever can be granted, most urgent first; tells the others why they wait, when that has changed."""
    for asked in sorted(s.line.values(), key=lambda asked: (asked.priority, asked.since, asked.node)):
        slot = s.slots.get(asked.node)
        why = _blocked(s) or (budget_refuses(s, asked) if slot is None else None)
        if _watched(s):
            _deny_watch(s, asked, why, out)
        elif why is None:
            _grant(s, asked, slot, now, out)
        elif why != asked.told:
            if not asked.told:
                out.append(_queued(s, asked, why))
            asked.told = why
            out.append(Tell(Entity.node(asked.node), Queued(plan=asked.plan, attempt=asked.attempt, reason=why)))


def budget_refuses(s: State, asked: Asked) -> str | None:
    if not may_grant(s.fsm, len(s.slots)):
        return f"the breaker is {s.fsm.replace('_', ' ')}"
    return budget.refuses(s, asked)


def next_token(s: State) -> Token:
    """Law: a token is never reused."""
    s.n += 1
    return Token(s.epoch, s.n)


def _take_in(s: State, slot: Slot | None, asked: Asked, now: datetime, out: list[Decision]) -> None:
    if slot is not None:
        if asked.attempt < slot.asked.attempt:
            return
        live = slot.status in (SlotStatus.GRANTED, SlotStatus.BEGUN) and now < slot.not_after
        if asked.attempt == slot.asked.attempt and (live or slot.begun_now()):
            out.append(Tell(Entity.node(asked.node), _granted(s, slot)))
            return
    known = s.line.get(asked.node)
    if known is not None and known.plan == asked.plan:
        if asked.attempt < known.attempt:
            return
        asked.since = known.since
        if asked.attempt == known.attempt and known.told:
            asked.told = known.told
            said = Queued(plan=asked.plan, attempt=asked.attempt, reason=known.told)
            out.append(Tell(Entity.node(asked.node), said))
    s.line[asked.node] = asked


def _is_closed(s: State, plan: Plan, order: int) -> bool:
    late = s.closed.get(plan.plan)
    return late is not None and (late == -1 or order <= late)


def _withdraw(s: State, plan: Plan, order: int, out: list[Decision]) -> None:
    """The node needs it no longer, or (revoked) its rack explains it: then what was granted stays charged."""
    node = str(plan.node)
    if node in s.line and s.line[node].plan == plan.plan:
        del s.line[node]
    slot = s.slots.get(node)
    if slot is None or slot.asked.plan != plan.plan:
        return
    if not plan.revoked:
        free(s, node, "withdrawn", out, late=order)
    elif slot.status is SlotStatus.GRANTED:
        slot.status = SlotStatus.REVOKED
        moved(s, slot, "revoked", SlotStatus.GRANTED, SlotStatus.REVOKED, out, "a rack incident explains it")


def _blocked(s: State) -> str | None:
    if s.restating:
        return "the guard waits until every rack has said what it holds"
    if s.stop is not None:
        return f"stopped by {s.stop.person}"
    return None if s.policy is not None else "the pool has no policy yet"


def _watched(s: State) -> bool:
    return s.policy is not None and s.policy.mode == "watch"


def _grant(s: State, asked: Asked, slot: Slot | None, now: datetime, out: list[Decision]) -> None:
    assert s.policy is not None
    limits = s.policy.limits
    del s.line[asked.node]
    before = slot.status.value if slot is not None else FREE
    granted = Slot(
        asked=asked,
        status=SlotStatus.GRANTED,
        token=next_token(s),
        granted=now,
        not_after=now + timedelta(seconds=limits.act_within_s),
        back_by=now + timedelta(seconds=limits.remediation_deadline_s),
        acts=slot.acts if slot is not None else [],
    )
    s.slots[asked.node] = granted
    moved(s, granted, "granted", before, SlotStatus.GRANTED, out, f"{asked.remedy}, attempt {asked.attempt}")
    out.append(Tell(Entity.node(asked.node), _granted(s, granted)))


def _granted(s: State, slot: Slot) -> Granted:
    assert s.policy is not None
    limits = s.policy.limits.model_copy(update={"mode": s.policy.mode})
    return Granted(
        plan=slot.asked.plan,
        attempt=slot.asked.attempt,
        revision=slot.asked.revision,
        token=slot.token,
        not_after=slot.not_after,
        limits=limits,
        guard=s.entity,
    )


def _deny_watch(s: State, asked: Asked, why: str | None, out: list[Decision]) -> None:
    """Watch mode: nothing is granted, and the ledger says what would have been."""
    del s.line[asked.node]
    said = f"{asked.plan}/{asked.attempt}"
    if said not in s.would:
        s.would = [*s.would, said][-MAX_WOULD:]
        text = f"would grant {asked.remedy} of {asked.node}" if why is None else f"would queue {asked.node}: {why}"
        out.append(_note(s, "would_grant", asked, text))
    out.append(Tell(Entity.node(asked.node), Denied(plan=asked.plan, attempt=asked.attempt, reason="watch")))


def _queued(s: State, asked: Asked, why: str) -> Note:
    return _note(s, "queued", asked, f"{asked.remedy} of {asked.node} waits: {why}")


def _note(s: State, name: str, asked: Asked, text: str) -> Note:
    cause = Cause(fault_ids=asked.fault_ids, plan=asked.plan, attempt=asked.attempt, policy=s.policy_version)
    return Note(OutcomeKind.DECISION, name=name, text=text, cause=cause, details={"node": asked.node})


def _tell(plan: Plan, message: Message, out: list[Decision]) -> None:
    out.append(Tell(Entity.node(plan.node), message))
