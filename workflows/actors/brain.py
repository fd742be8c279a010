"""A brain as its shell sees it: five pure functions and the model of its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import BaseModel

from gpuward.contracts.identity import Entity
from workflows.decide.decisions import Decision
from workflows.decide.events import Event

S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Brain(Generic[S]):
    """One per kind of entity; `workflows.decide` has them."""

    state: type[S]
    born: Callable[[Entity], S]
    decide: Callable[[S, list[Event], datetime], tuple[S, list[Decision]]]
    next_wake: Callable[[S], datetime | None]
    summary: Callable[[S], str]
    lifecycle: Callable[[S], str]
