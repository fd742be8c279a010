"""The guard's last word before an act, a person's stop, and what happens to slots when time or a person moves on.

Law: a stop holds. Once acknowledged, no irreversible act begins; `begin` and `stop` are updates of one workflow, so one of
them is first.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import TokenRenewed
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.updates import Begin
from workflows.decide.asks import next_token
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.slots import Slot, SlotStatus, State, moved


def refuses(s: State, request: Begin, now: datetime) -> str | None:
    """Why the act may not begin; the reason starts with one word that says what kind it is."""
    slot = s.slots.get(str(request.node))
    if s.amnesiac or s.restating:
        return "amnesia: the guard is recalling what it granted"
    if s.stop is not None:
        return f"stop: stopped by {s.stop.person}"
    if s.policy is None or s.policy.mode == "watch":
        return "watch: the pool is only watched"
    if slot is None or (slot.asked.plan, slot.asked.attempt) != (request.plan, request.attempt):
        return f"token: no slot is granted for {request.plan}/{request.attempt} of {request.node}"
    return _slot_refuses(s, slot, request, now)


def begin(s: State, request: Begin, out: list[Decision]) -> None:
    """The act begins."""
    slot = s.slots[str(request.node)]
    before = slot.status
    slot.acts.append(f"{request.attempt}:{request.act}")
    slot.status, slot.refused_by_stop = SlotStatus.BEGUN, False
    if before is not SlotStatus.BEGUN:
        moved(s, slot, "begun", before, SlotStatus.BEGUN, out, request.act)


def begun(s: State) -> tuple[str, ...]:
    """The acts that have begun and whose node is not back: `remediation/<node>/<plan>/<attempt>`."""
    slots = [slot.asked for slot in s.slots.values() if slot.begun_now()]
    return tuple(sorted(f"remediation/{asked.node}/{asked.plan}/{asked.attempt}" for asked in slots))


def renew(s: State, now: datetime, out: list[Decision]) -> None:
    """A stop was lifted: children that were refused by it, or have not begun, may act under a new token."""
    if s.policy is None or s.stop is not None or s.restating:
        return
    for slot in s.slots.values():
        fresh = slot.status in (SlotStatus.GRANTED, SlotStatus.OVERDUE) and not slot.begun_now()
        if not (fresh or slot.refused_by_stop) or slot.token.epoch != s.epoch:
            continue
        slot.prior, slot.prior_not_after = slot.token, slot.not_after
        slot.token, slot.refused_by_stop = next_token(s), False
        slot.not_after = now + timedelta(seconds=s.policy.limits.act_within_s)
        slot.back_by = now + timedelta(seconds=s.policy.limits.remediation_deadline_s)
        before = slot.status
        slot.status = SlotStatus.BEGUN if slot.begun_now() else SlotStatus.GRANTED
        moved(s, slot, "renewed", before, slot.status, out)
        plan, attempt = slot.asked.plan, slot.asked.attempt
        said = TokenRenewed(plan=plan, attempt=attempt, token=slot.token, not_after=slot.not_after)
        out.append(Tell(Entity.node(slot.asked.node), said))


def overdue(s: State, now: datetime, out: list[Decision]) -> None:
    """Law: a token unused at its deadline ends the right to act, and the slot stays charged."""
    for slot in s.slots.values():
        late = slot_deadline(slot)
        if late is None or now < late:
            continue
        before, slot.status = slot.status, SlotStatus.OVERDUE
        text = "its token was not used" if before is SlotStatus.GRANTED else "the node is not back"
        moved(s, slot, "overdue", before, SlotStatus.OVERDUE, out, text)
        said = f"{slot.asked.node} stays charged: {text} in time; `gpuward release` or a write-off frees the slot"
        out.append(Note(OutcomeKind.ALARM, name="overdue", text=said, cause=slot.cause()))


def slot_deadline(slot: Slot) -> datetime | None:
    if slot.status is SlotStatus.OVERDUE:
        return None
    return slot.not_after if slot.status is SlotStatus.GRANTED else slot.back_by


def _slot_refuses(s: State, slot: Slot, request: Begin, now: datetime) -> str | None:
    prior = slot.prior is not None and request.token == slot.prior
    if request.token.epoch != s.epoch or not (prior or request.token == slot.token):
        return "token: it is not the one that is granted now"
    if slot.status in (SlotStatus.REVOKED, SlotStatus.RESTATED):
        return f"token: it was {slot.status}"
    not_after = slot.prior_not_after if prior and slot.prior_not_after is not None else slot.not_after
    if slot.status is SlotStatus.OVERDUE or now > not_after:
        return f"deadline: the right to act ended at {not_after.isoformat()}"
    if request.boot_id and slot.asked.boot_id and request.boot_id != slot.asked.boot_id:
        return f"boot: granted for {slot.asked.boot_id}, asked under {request.boot_id}"
    if f"{request.attempt}:{request.act}" in slot.acts:
        return f"again: {request.act} has begun in this attempt before"
    return None
