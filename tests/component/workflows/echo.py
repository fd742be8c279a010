"""A brain that does what it is told, for tests of the shell: a directive's `reason` is a JSON list of decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput
    from gpuward.contracts.acts import NodeAct, PersonAsked
    from gpuward.contracts.directives import Directive, Order
    from gpuward.contracts.identity import Entity, NodeId
    from gpuward.contracts.outcomes import OutcomeKind
    from gpuward.contracts.remediation import RemediationInput
    from gpuward.contracts.seat import Seat
    from workflows.actors.brain import Brain
    from workflows.actors.doors import Doors
    from workflows.actors.shell import Shell
    from workflows.decide.decisions import Decision, LookAtRemediation, Note, Perform, StartRemediation, Tell
    from workflows.decide.events import Event


class State(BaseModel):
    entity: Entity
    seen: list[str] = []
    turns: int = 0
    wake: datetime | None = None


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    state = state.model_copy(deep=True)
    state.turns += 1
    decisions: list[Decision] = []
    if state.wake is not None and state.wake <= now:
        state.wake = None
        state.seen.append("woke")
    for event in events:
        if isinstance(event, Directive):
            state.seen.append(event.id)
            for verb, argument in json.loads(event.reason or "[]"):
                if verb == "wake":
                    state.wake = now + timedelta(seconds=argument)
                else:
                    decisions.append(_decision(state, event, verb, argument))
        else:
            state.seen.append(_said(event))
    return state, decisions


def _decision(state: State, event: Directive, verb: str, argument: Any) -> Decision:
    match verb:
        case "tell":
            return Tell(Entity(argument[0]), order(argument[0], argument[1]))
        case "note":
            return Note(OutcomeKind.RECORDED, name=argument, text=event.id)
        case "ask":
            return Perform(
                "notify.person", PersonAsked(entity=state.entity, plan="p", attempt=1, text=argument), tag=argument
            )
        case "uncordon":
            node = NodeId("n1")
            return Perform(
                "node.uncordon",
                NodeAct(node=node, seat=Seat(node=node), plan="p", attempt=1, boot_id="b"),
                tag=argument,
            )
        case "start":
            return StartRemediation(RemediationInput.model_validate(argument))
        case "look":
            return LookAtRemediation(Entity(argument))
    raise ValueError(verb)


def _said(event: Event) -> str:
    if event.kind == "report":
        return f"report:{event.step}" + (f":{event.result}:{event.acted}:{event.why}" if event.step == "ended" else "")
    if event.kind == "recalled":
        return f"recalled:{event.loaded.status}"
    if event.kind == "performed":
        return f"performed:{event.tag}:{event.ok}"
    if event.kind == "looked":
        return f"looked:{event.status}"
    return event.kind


def order(entity: str, name: str, *program: tuple[str, Any]) -> Directive:
    """A message for the actor of `entity`, whose shell will do `program`."""
    time = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    return Directive(
        id=name, order=Order.ANNOTATE, entity=Entity(entity), person="test", time=time, reason=json.dumps(program)
    )


BRAIN = Brain(State, born, decide, lambda s: s.wake, lambda s: f"{len(s.seen)} seen", lambda _s: "healthy")


@workflow.defn(name="EchoActor")
class EchoActor(Doors):
    @workflow.init
    def __init__(self, start: ActorInput) -> None:
        self.shell = Shell(BRAIN, start)

    @workflow.run
    async def run(self, _start: ActorInput) -> None:
        await self.shell.run()
