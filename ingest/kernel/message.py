"""One kernel message, stripped of whatever the log put before it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from gpuward.contracts.identity import Slot
from gpuward.contracts.model import Contract
from gpuward.contracts.observations import observation_id

MAX_TEXT = 512
SLOT = r"[0-9A-Fa-f:.]{5,16}"
"""A PCI address in any of its forms; `slot_of` says whether it really is one."""

Model = TypeVar("Model", bound=Contract)


class Message(NamedTuple):
    """`part` counts the lines that the driver put into one kernel record."""

    text: str
    time: datetime
    boot_id: str
    sequence: int
    part: int = 0

    def seen(self, kind: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """`said` and the fields that every observation of a kernel line has.

        The id is over boot id, kernel sequence, kind, and part where the record had several.
        """
        text, boot_id, sequence, part = self.text, self.boot_id, self.sequence, self.part
        where = (boot_id, sequence, kind, part) if part else (boot_id, sequence, kind)
        return {
            **said,
            "id": observation_id(*where),
            "time": self.time,
            "boot_id": boot_id,
            "sequence": (sequence, sequence),
            "text": text if len(text) <= MAX_TEXT else text[:MAX_TEXT],
        }


@lru_cache(maxsize=4096)
def slot_of(text: str | None) -> Slot | None:
    """The PCI address in its normal form, None for what only looks like one."""
    try:
        return Slot.parse(text) if text else None
    except ValueError:
        return None


@lru_cache(maxsize=16)
def _defaults(model: type[Model]) -> dict[str, Any]:
    return {name: field.get_default() for name, field in model.model_fields.items() if not field.is_required()}


def trusted(model: type[Model], fields: dict[str, Any]) -> Model:
    """The model from fields whose types the caller guarantees: what validation gives, in a fifth of its time.

    Kernel storms reach 100,000 lines a second; a test holds this equal to the validated model.
    """
    made = model.__new__(model)
    set_ = object.__setattr__
    set_(made, "__dict__", _defaults(model) | fields)
    set_(made, "__pydantic_fields_set__", set(fields))
    set_(made, "__pydantic_extra__", {})
    set_(made, "__pydantic_private__", None)
    return made
