"""The one shell of every actor and guard: a loop around a brain. No `if` about health stands here.

What the brain decides leaves as commands of the workflow task that decided it, all started together. What is not known to
be done stays in a queue here, and the queues go with the state through continue-as-new.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NoReturn, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorInput, ActorView
    from gpuward.contracts.identity import Entity, EntityKind
    from gpuward.contracts.messages import OtherMessage
    from gpuward.contracts.outcomes import OutcomeKind
    from gpuward.runtime import failpoints
    from workflows.actors.brain import Brain
    from workflows.actors.carried import Carried
    from workflows.actors.errands import Errands
    from workflows.alarm import Alarm
    from workflows.background import Background
    from workflows.decide.decisions import Decision, LookAtRemediation, Note, Perform, StartRemediation, Tell
    from workflows.decide.events import Event, PersonSaid, Woken
    from workflows.inbox import PER_ACTIVATION, Inbox, Unreadable
    from workflows.outbox import Outbox
    from workflows.post import Post

HISTORY_BUDGET = 800
"""Events after which a run ends when nothing is under way; at twice as many it ends with what is under way carried."""
CARRY_BYTES = 500_000
"""No continue-as-new with more undecoded bytes than this: an input has 2 MB at most."""

S = TypeVar("S", bound=BaseModel)


class Shell(Generic[S]):
    """Made in `@workflow.init`; `run` never returns. `take` is for the signal, `decided` and `heard` for updates."""

    def __init__(self, brain: Brain[S], start: ActorInput) -> None:
        self.entity = start.entity
        self.waiters = 0
        """Update handlers that wait for what messages bring: meanwhile the run does not end."""
        self._brain = brain
        self._events: list[Event] = []
        self._inbox = Inbox(start.pending)
        self._background = Background()
        self._alarm = Alarm()
        self._restore(start)

    def _restore(self, start: ActorInput) -> None:
        epoch_ms = int(workflow.info().workflow_start_time.timestamp() * 1000)
        carried = Carried(epoch_ms=epoch_ms) if start.state is None else Carried.model_validate(start.state)
        self.state: S = (
            self._brain.state.model_validate(carried.brain) if carried.brain else self._brain.born(self.entity)
        )
        self._outbox = Outbox(self.entity, self._background, self._checkpoint, carried.epoch_ms)
        self._outbox.number, self._outbox.dropped = carried.number, carried.dropped
        self._outbox.waiting = list(carried.outbox)
        self._errands = Errands(self.entity, self._background, self._events.append, carried)
        self._post = Post(self._background, self._undelivered)
        self._post.lanes = {to: list(lane) for to, lane in carried.lanes.items()}
        self._errands.post = self._post

    # -- doors --------------------------------------------------------------------------------------------------------

    def take(self, items: RawValue) -> None:
        """The signal: keeps it raw and returns."""
        self._inbox.put(items)

    def heard(self, event: PersonSaid) -> None:
        """An update that was accepted: the brain is told at once, within the update."""
        self.decided(*self._brain.decide(self.state, [event], workflow.now()))

    def decided(self, state: S, decisions: Iterable[Decision]) -> None:
        """Takes the new state and starts what was decided, as commands of this very workflow task."""
        self.state = state
        for decision in decisions:
            self._queue(decision)
        if not workflow.unsafe.is_replaying():
            failpoints.hit("decision taken")
        self._settle()

    def view(self) -> ActorView:
        """Answer of the query."""
        return ActorView(
            entity=self.entity,
            lifecycle=self._brain.lifecycle(self.state),
            summary=self._brain.summary(self.state),
            amnesiac=self._amnesiac(),
            state=self.state.model_dump(mode="json"),
            backlog=self._inbox.backlog,
            history_length=workflow.info().get_current_history_length(),
        )

    def _amnesiac(self) -> bool:
        return self._errands.amnesiac or bool(getattr(self.state, "amnesiac", False))

    def _checkpoint(self) -> dict[str, Any] | None:
        """Law: an actor that has lost its memory never writes over what the records remember."""
        return None if self._amnesiac() else self.state.model_dump(mode="json")

    # -- the loop -----------------------------------------------------------------------------------------------------

    async def run(self) -> NoReturn:
        """Lives until continue-as-new. A defect fails the workflow task, which is tried again by the next build."""
        self._settle()
        while True:
            await workflow.wait_condition(self._has_work)
            self._background.check()
            if self._may_end():
                workflow.continue_as_new(self._successor())
            if self._turn() >= PER_ACTIVATION:
                await workflow.sleep(0.001)

    def _has_work(self) -> bool:
        return bool(
            self._events
            or self._alarm.rung
            or (self._inbox and not self._ending())
            or self._background.defect is not None
            or self._may_end()
        )

    def _turn(self) -> int:
        """One call of the brain with everything that is there; returns how many messages were decoded."""
        events: list[Event] = list(self._events)
        self._events.clear()
        messages = [] if self._ending() else self._inbox.take()
        for message in messages:
            if isinstance(message, Unreadable):
                self._outbox.note(Note(OutcomeKind.ALARM, name="message.unreadable", text=message.text))
            elif isinstance(message, OtherMessage):
                self._outbox.note(
                    Note(OutcomeKind.RECORDED, name="message.unknown", text=f"unknown kind {message.kind}")
                )
            else:
                events.append(message)
        if self._alarm.taken():
            events.append(Woken())
        if events:
            self.decided(*self._brain.decide(self.state, events, workflow.now()))
        else:
            self._settle()
        return len(messages)

    def _queue(self, decision: Decision) -> None:
        match decision:
            case Tell(to, message):
                self._post.put(to, message)
            case Note():
                self._outbox.note(decision)
            case Perform(action, request, tag):
                self._errands.perform(action, request, tag)
            case StartRemediation(request):
                self._errands.start(request)
            case LookAtRemediation(remediation):
                self._errands.look(remediation)

    def _settle(self) -> None:
        """Starts what waits, unless this run is about to end; sets the timer."""
        ending = self._ending()
        self._post.paused = self._errands.paused = ending
        self._post.dispatch()
        self._errands.dispatch()
        if ending:
            self._outbox.stop()
        else:  # last: the ledger may wait, the next hop may not
            self._outbox.paused = False
            self._outbox.flush()
        self._alarm.arm(self._brain.next_wake(self.state))

    def _undelivered(self, to: Entity, why: str) -> None:
        if to.kind is EntityKind.REMEDIATION:
            self._errands.gone(to)
        text = f"a message to {to} could not be delivered: {why}"
        self._outbox.note(Note(OutcomeKind.DECISION, name="undelivered", text=text))
        self._outbox.flush()

    # -- continue-as-new ----------------------------------------------------------------------------------------------

    def _ending(self) -> bool:
        """Over budget: nothing new is begun, messages stay undecoded and go along."""
        info = workflow.info()
        over = info.get_current_history_length() >= HISTORY_BUDGET or info.is_continue_as_new_suggested()
        return over and self.waiters == 0 and self._inbox.size < CARRY_BYTES

    def _may_end(self) -> bool:
        if not self._ending() or self._events or not workflow.all_handlers_finished():
            return False
        if self._post.signals or self._errands.asking:
            return False
        quiet = self._post.quiet and self._errands.quiet and not self._outbox.in_flight
        return quiet or workflow.info().get_current_history_length() >= 2 * HISTORY_BUDGET

    def _successor(self) -> ActorInput:
        errands, outbox = self._errands, self._outbox
        carried = Carried(
            epoch_ms=outbox.epoch_ms,
            amnesiac=errands.amnesiac,
            brain=self.state.model_dump(mode="json"),
            number=outbox.number,
            outbox=tuple(outbox.waiting),
            dropped=outbox.dropped,
            lanes=self._post.lanes,
            performs=tuple(errands.performs),
            starts=tuple(errands.starts),
            looks=tuple(errands.looks),
            known=tuple(errands.known),
        )
        return ActorInput(entity=self.entity, state=carried.model_dump(mode="json"), pending=self._inbox.pending())
