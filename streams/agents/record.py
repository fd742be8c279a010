"""One record as the shells hand it on, whoever read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from gpuward.contracts.envelope import REROUTED
from gpuward.contracts.errors import Permanent
from gpuward.contracts.model import Contract
from gpuward.contracts.topics import TOPICS

Model = TypeVar("Model", bound=Contract)


@dataclass(frozen=True, slots=True)
class Record:
    """Raw bytes, and where they lay."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()

    @property
    def rerouted(self) -> bool:
        """Whether it was re-published to its partition before; nobody does that twice."""
        return any(name == REROUTED for name, _ in self.headers)

    @property
    def home(self) -> int:
        """The partition on which its key places it."""
        return TOPICS[self.topic].partition(self.key or b"")


class Unusable(Permanent):
    """Something is wrong with the event itself. `reason` is one word, for the dead letter."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def read(model: type[Model], record: Record) -> Model:
    """The record's value as this model. Raises Unusable where it is not one."""
    try:
        return model.model_validate_json(record.value or b"")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unusable("unreadable", f"not a {model.__name__}: {where} {first['msg']}".strip()) from error
