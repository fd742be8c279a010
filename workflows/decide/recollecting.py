"""How a guard that has lost its memory learns again which slots are charged.

Law: a guard that has reloaded grants nothing until every rack it knows has said what it holds, or the longest lifetime of
a token has passed; until then every slot of its record counts as taken.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import RackAvailability, Restate, Token
from gpuward.contracts.identity import Entity, PoolId
from gpuward.contracts.policy import PoolPolicy
from gpuward.contracts.remedies import Remedy
from workflows.decide.decisions import Decision, Tell
from workflows.decide.slots import FREE, Asked, RackLevel, Slot, SlotStatus, State, free, moved


def ask_racks(s: State, now: datetime, out: list[Decision]) -> None:
    """Tokens of before begin nothing any more: what their acts list says may be older than the acts."""
    s.restating = sorted({*s.racks, *(slot.asked.rack for slot in s.slots.values() if slot.asked.rack)})
    policy = s.policy or PoolPolicy(name=PoolId(s.entity.name))
    s.restate_until = now + timedelta(seconds=policy.limits.act_within_s)
    out.extend(Tell(Entity.rack(rack), Restate(guard=s.entity, id=str(s.epoch))) for rack in s.restating)


def take_level(s: State, said: RackAvailability, now: datetime, out: list[Decision]) -> None:
    """Takes in a rack's level, and, where it restates, the slots and asks of its nodes."""
    rack = str(said.rack)
    known = s.racks.get(rack, RackLevel())
    if said.revision > known.revision:
        s.racks[rack] = RackLevel(
            revision=said.revision,
            members=len(said.members),
            unavailable={str(node): cause for node, cause in said.unavailable.items()},
        )
    if said.restated and said.restate == str(s.epoch) and rack in s.restating:
        s.restating.remove(rack)
        _restated(s, said, now, out)


def give_up_waiting(s: State, now: datetime) -> None:
    if s.restate_until is not None and (now >= s.restate_until or not s.restating):
        s.restating, s.restate_until = [], None


def _restated(s: State, said: RackAvailability, now: datetime, out: list[Decision]) -> None:
    held = {str(node): token for node, token in said.tokens.items()}
    waiting = {str(plan.node): plan for plan in said.plans}
    for node in [name for name, slot in s.slots.items() if slot.asked.rack == str(said.rack)]:
        known = held[node][0] if node in held else waiting[node].plan if node in waiting else None
        if known != s.slots[node].asked.plan:
            free(s, node, "released", out, text="its rack knows no such plan")
    for node, (plan_id, attempt, token) in held.items():
        _charge(s, str(said.rack), node, plan_id, attempt, token, now, out)
    for node, plan in waiting.items():
        domains = tuple(str(domain) for domain in said.domains.get(plan.node, ()))
        s.line.setdefault(node, Asked.of(plan, domains, now))


def _charge(
    s: State, rack: str, node: str, plan: str, attempt: int, token: Token, now: datetime, out: list[Decision]
) -> None:
    slot = s.slots.get(node)
    if slot is not None:
        slot.asked.attempt = max(slot.asked.attempt, attempt)
        return
    asked = Asked(node=node, plan=plan, attempt=attempt, revision=0, rack=rack, remedy=Remedy.OBSERVE, since=now)
    until = s.restate_until or now
    s.slots[node] = Slot(
        asked=asked, status=SlotStatus.RESTATED, token=token, granted=now, not_after=now, back_by=until
    )
    moved(s, s.slots[node], "restated", FREE, SlotStatus.RESTATED, out, "its rack says that it is under repair")
