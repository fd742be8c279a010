"""What every brain's state has, and how an actor that starts without one gets its memory back.

Until `records.load` has answered, an actor is amnesiac: it keeps what it is told and decides nothing. Then it goes on from
the checkpoint in its record (or fresh, where there is none) and takes in what it kept, in order.

Law: an amnesiac actor sends, starts and grants nothing. It writes no ledger record either, since a record carries a
checkpoint, and an empty checkpoint would overwrite the memory that is being waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpuward.contracts.claims import Claim
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity
from gpuward.contracts.messages import Message
from gpuward.contracts.model import Contract
from workflows.decide.events import Event, Looked, Performed, PersonSaid, Recalled, Woken

Recall = Literal["none", "found"]


class Memory(BaseModel):
    """Base of each brain's state. JSON-serialisable and under 20 KB; a brain works on a deep copy, never on its input."""

    model_config = ConfigDict(extra="ignore")

    version: int = 1
    entity: Entity
    amnesiac: bool = True
    waiting: list[Message] = Field(default_factory=list)
    """Told while amnesiac."""
    unreadable: str = ""
    """Why the record that was found could not be adopted; the actor stays amnesiac."""

    def copied(self) -> Self:
        """A copy to work on: nothing done to it is seen in the original. Contracts are frozen, so they are shared."""
        return _copied(self)


S = TypeVar("S", bound=Memory)


def recall(state: S, events: Sequence[Event], born: Callable[[Entity], S]) -> tuple[S, list[Event], Recall | None]:
    """The state to go on from, the events to take in now, and how memory came back (None: not in this activation).

    `state` may be changed. While amnesiac the list is empty: messages are kept in `waiting`, and answers to what a former
    run asked are dropped.
    """
    if not state.amnesiac:
        return state, [event for event in events if not isinstance(event, Recalled)], None
    how: Recall | None = None
    ready: list[Event] = []
    for event in events:
        if how is not None:
            if not isinstance(event, Recalled):
                ready.append(event)
        elif not isinstance(event, Recalled):
            _keep(state, event)
        elif event.loaded.status != "unavailable":
            record = event.loaded.record.state if event.loaded.record is not None else {}
            adopted, how = _adopt(state, record, born)
            if how is not None:
                ready.extend(state.waiting)
                state = adopted
    return state, ready, how


def rising(last: int, now: datetime) -> int:
    """The next revision: the time in ms, or one more than the last. So it rises also over a loss of memory."""
    return max(last + 1, int(now.timestamp() * 1000))


M = TypeVar("M", bound=BaseModel)


def _copied(model: M) -> M:
    twin = model.model_copy()
    for name, value in twin.__dict__.items():
        twin.__dict__[name] = _copied_value(value)
    return twin


def _copied_value(value: Any) -> Any:
    if isinstance(value, Contract):
        return value
    if isinstance(value, BaseModel):
        return _copied(value)
    if isinstance(value, dict):
        return {key: _copied_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copied_value(inner) for inner in value]
    return value


def _adopt(state: S, record: dict[str, object], born: Callable[[Entity], S]) -> tuple[S, Recall | None]:
    if not record or record.get("amnesiac"):
        fresh = born(state.entity)
        fresh.amnesiac = False
        return fresh, "none"
    try:
        adopted = type(state).model_validate(record)
    except ValidationError as error:
        state.unreadable = f"the record could not be read: {error.error_count()} errors"
        return state, None
    adopted.amnesiac, adopted.waiting = False, []
    return adopted, "found"


def _keep(state: Memory, event: Event) -> None:
    """Keeps the newest of each fault class and claim, and everything else once."""
    if isinstance(event, (Recalled, Performed, Looked, PersonSaid, Woken)) or event in state.waiting:
        return
    if isinstance(event, (Fault, Claim)):
        same = [kept for kept in state.waiting if _same_level(kept, event)]
        if any(kept.revision > event.revision for kept in same if isinstance(kept, type(event))):  # type: ignore[operator]
            return
        state.waiting = [kept for kept in state.waiting if kept not in same]
    state.waiting.append(event)


def _same_level(kept: Message, told: Fault | Claim) -> bool:
    if isinstance(told, Fault):
        return isinstance(kept, Fault) and (kept.entity, kept.fault_class) == (told.entity, told.fault_class)
    return isinstance(kept, Claim) and kept.claimant == told.claimant
