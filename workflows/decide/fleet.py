"""STUB, being written: the API is final."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel

from gpuward.contracts.identity import Entity
from gpuward.contracts.updates import *  # noqa: F403
from gpuward.contracts.updates import (
    Approve, Begin, BeginAnswer, PendingQuestion, PersonAnswer, Reject, Resume, Stop, StopAnswer, WriteOff,
)
from workflows.decide.decisions import Decision
from workflows.decide.events import Event


class State(BaseModel):
    version: int = 1
    entity: Entity
    amnesiac: bool = True


def born(entity: Entity) -> State:
    return State(entity=entity)


def decide(state: State, events: Sequence[Event], now: datetime) -> tuple[State, list[Decision]]:
    return state, []


def next_wake(state: State) -> datetime | None:
    return None


def summary(state: State) -> str:
    return ""


def lifecycle(state: State) -> str:
    return "healthy"


def stop(state: State, request: Stop, now: datetime) -> tuple[State, list[Decision]]:
    return state, []


def resume(state: State, request: Resume, now: datetime) -> tuple[State, list[Decision]]:
    return state, []


def acknowledged(state: State) -> StopAnswer | None:
    """None: not every guard has answered yet; the shell waits."""
    return None
