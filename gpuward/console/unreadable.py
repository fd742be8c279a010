"""Reads what the projector is given, and puts aside what cannot be read."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ValidationError

from gpuward.console.fold import Item
from gpuward.contracts.topics import TOPICS


class Unreadable(Exception):  # noqa: N818 - what the record is
    """The record is not what its topic holds. `reason` is one of few words, for the metric."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def read(record: Any) -> Item | None:
    """The item in one Kafka record; None for a tombstone. Raises Unreadable."""
    if record.value is None:
        return None
    model = TOPICS[record.topic].model
    assert model is not None, f"{record.topic} has no model"
    try:
        return cast("Item", model.model_validate_json(record.value))
    except ValidationError as error:
        reason = "not-json" if any(e["type"] == "json_invalid" for e in error.errors()) else "not-the-model"
        first = error.errors()[0]
        raise Unreadable(reason, f"{'.'.join(map(str, first['loc'])) or 'value'}: {first['msg']}") from error
