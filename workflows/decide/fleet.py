"""The brain of `pool/fleet`, the guard over all pool guards: its stop is pushed to every one of them.

Law: a stop of the fleet is acknowledged only when each guard has answered; until then it has not happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel, Field

from gpuward.contracts.claims import FleetStop, FleetStopped, Register
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.updates import Resume, Stop, StopAnswer
from workflows.decide.decisions import Decision, Note, Tell
from workflows.decide.events import Event
from workflows.decide.memory import Memory, recall, rising

TELL_AGAIN_S = 60.0


class Guard(BaseModel):
    """One pool guard, and the newest revision that it has answered."""

    answered: int = -1
    begun: tuple[str, ...] = ()


class State(Memory):
    """Everything that the fleet's guard remembers."""

    guards: dict[str, Guard] = Field(default_factory=dict)
    revision: int = 0
    """Of the newest stop or resume; 0: there was none yet."""
    stopped: bool = False
    person: str = ""
    reason: str = ""
    noted: bool = True
    wake: datetime | None = None
    """When guards that have not answered are told again."""


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    s, ready, how = recall(state.copied(), events, born)
    if s.amnesiac:
        return s, []
    out: list[Decision] = []
    if how is not None:
        _recalled(s, state, how == "found", now, out)
    for event in ready:
        if isinstance(event, Register):
            s.guards.setdefault(str(event.pool), Guard())
            if s.revision:
                _tell(s, [str(event.pool)], now, out)
        elif isinstance(event, FleetStopped):
            guard = s.guards.setdefault(str(event.pool), Guard())
            if event.revision >= guard.answered:
                guard.answered, guard.begun = event.revision, event.begun
    if s.wake is not None and now >= s.wake:
        _tell(s, _silent(s), now, out)
    if not _silent(s):
        s.wake = None
    return s, out


def stop(state: State, request: Stop, now: datetime) -> tuple[State, list[Decision]]:
    """Pushes the stop to every guard; `acknowledged` says when each has answered."""
    return _push(state, request, stopped=True, now=now)


def resume(state: State, request: Resume, now: datetime) -> tuple[State, list[Decision]]:
    """Lifts the fleet's stop; a pool's own stop holds on."""
    return _push(state, request, stopped=False, now=now)


def acknowledged(state: State) -> StopAnswer | None:
    """None: not every guard has answered the newest stop or resume yet."""
    if state.amnesiac or _silent(state):
        return None
    begun = tuple(sorted(act for guard in state.guards.values() for act in guard.begun))
    return StopAnswer(stopped=state.stopped, begun=begun, pools=tuple(sorted(state.guards)))


def next_wake(state: State) -> datetime | None:
    return None if state.amnesiac else state.wake


def lifecycle(state: State) -> str:
    return "stopped" if state.stopped else "closed"


def summary(state: State) -> str:
    if state.amnesiac:
        return state.unreadable or "recalling what it knew"
    said = f"{len(state.guards)} pools"
    if state.stopped:
        said = f"stopped by {state.person}; {said}, {len(_silent(state))} have not answered"
    return said


def _push(state: State, request: Stop | Resume, *, stopped: bool, now: datetime) -> tuple[State, list[Decision]]:
    s = state.copied()
    out: list[Decision] = []
    if s.revision and s.stopped == stopped:
        return s, out
    s.revision = rising(s.revision, now)
    s.stopped, s.person, s.reason, s.noted = stopped, request.person, request.reason, False
    if not s.amnesiac:
        _note(s, out)
        _tell(s, sorted(s.guards), now, out)
    return s, out


def _recalled(s: State, amnesiac: State, found: bool, now: datetime, out: list[Decision]) -> None:
    if not found:
        out.append(Note(OutcomeKind.BORN, name="born", text="the fleet is guarded from now on"))
    if amnesiac.revision > s.revision:
        s.revision, s.stopped, s.noted = amnesiac.revision, amnesiac.stopped, False
        s.person, s.reason = amnesiac.person, amnesiac.reason
        _note(s, out)
    if s.revision:
        _tell(s, _silent(s), now, out)


def _silent(s: State) -> list[str]:
    return sorted(pool for pool, guard in s.guards.items() if s.revision and guard.answered < s.revision)


def _tell(s: State, pools: list[str], now: datetime, out: list[Decision]) -> None:
    said = FleetStop(revision=s.revision, stopped=s.stopped, person=s.person, reason=s.reason)
    out.extend(Tell(Entity.pool(pool), said) for pool in pools)
    if pools:
        s.wake = now + timedelta(seconds=TELL_AGAIN_S)


def _note(s: State, out: list[Decision]) -> None:
    s.noted = True
    name = "stopped" if s.stopped else "resumed"
    text = f"{name} by {s.person}" + (f": {s.reason}" if s.reason else "")
    out.append(Note(OutcomeKind.STOP, name=name, text=text))
