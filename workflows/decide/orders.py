"""What a person can order of a node: cordon, release, drain, retire, annotate."""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from workflows.decide import incidents
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.handback import node_act, perform
from workflows.decide.merging import quarantine_claims
from workflows.decide.node_state import State

MAX_DIRECTIVES = 32
REMIND_S = 86400.0


def take(s: State, order: Directive, now: datetime, out: list[Decision]) -> None:
    """Takes in a directive, each id once."""
    if order.id in s.directives:
        return
    s.directives = [*s.directives, order.id][-MAX_DIRECTIVES:]
    text = f"{order.person} said {order.order}" + (f": {order.reason}" if order.reason else "")
    out.append(Note(OutcomeKind.PERSON_SAID, name=order.order.value, text=text, cause=s.cause()))
    match order.order:
        case Order.CORDON:
            _cordon(s, order, now, out)
        case Order.RELEASE:
            _release(s, order, now, out)
        case Order.DRAIN:
            s.drain_by = order.person
        case Order.RETIRE:
            s.retired, s.drain_by, s.question = True, "", None
        case Order.ANNOTATE:
            pass


def remind(s: State, now: datetime, out: list[Decision]) -> None:
    """Law: nothing waits for a person without a deadline. The default is that the person's cordon stays, with an alarm."""
    if s.cordoned_by and s.remind is not None and now >= s.remind:
        s.remind = now + timedelta(seconds=REMIND_S)
        text = f"still cordoned by {s.cordoned_by}; `gpuward release {s.entity}` ends it"
        out.append(Note(OutcomeKind.ALARM, name="still_cordoned", text=text, cause=s.cause()))


def _cordon(s: State, order: Directive, now: datetime, out: list[Decision]) -> None:
    s.cordoned_by, s.remind = order.person, now + timedelta(seconds=REMIND_S)
    if s.seat is not None:
        act = node_act(s, s.plan).model_copy(update={"ordered_by": order.person})
        perform(s, "node.cordon", act, out)


def _release(s: State, order: Directive, now: datetime, out: list[Decision]) -> None:
    """Undoes what people ordered through gpuward, and takes what is in quarantine as it is."""
    was_cordoned = bool(s.cordoned_by)
    s.cordoned_by = s.drain_by = s.elsewhere = ""
    s.remind, s.retired = None, False
    for name in quarantine_claims(s):
        if name == str(s.entity):
            incidents.accept(s.sick, order.person, now, out)
            continue
        s.claims[name] = s.claims[name].model_copy(update={"quarantine": False, "ladder": (), "because": "released"})
        gpu = Entity(name)
        out.append(Tell(gpu, order.model_copy(update={"entity": gpu, "id": f"{order.id}@{s.node}"})))
    if s.plan is not None:
        s.plan.unproven = False
    elif was_cordoned and s.seat is not None:
        perform(s, "node.uncordon", node_act(s, None), out)
