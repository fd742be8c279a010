"""Reads what the projector is given, and puts aside what cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from pydantic import ValidationError

from gpuward.console.fold import Item
from gpuward.contracts.topics import TOPICS
from streams.dead_letters import PREFIX


class Unreadable(Exception):  # noqa: N818 - what the record is
    """The record is not what its topic holds; the message says where it differs."""


def read(record: Any) -> Item | None:
    """The item in one Kafka record; None for a tombstone. Raises Unreadable."""
    if record.value is None:
        return None
    model = TOPICS[record.topic].model
    assert model is not None, f"{record.topic} has no model"
    try:
        return cast("Item", model.model_validate_json(record.value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "value"
        raise Unreadable(f"not a {model.__name__}: {where}: {first['msg']}") from error


def described(record: Any) -> dict[str, Any]:
    """A dead letter in plain JSON: where the record lay, why it could not be read, and its beginning."""
    said = {name: value.decode("utf-8", "replace") for name, value in record.headers}
    value = record.value or b""
    return {
        "topic": said.get(f"{PREFIX}topic", "?"),
        "partition": int(said.get(f"{PREFIX}partition", -1)),
        "offset": int(said.get(f"{PREFIX}offset", -1)),
        "reason": said.get(f"{PREFIX}reason", "?"),
        "detail": said.get(f"{PREFIX}detail", ""),
        "by": said.get(f"{PREFIX}by", "?"),
        "time": datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat(),
        "key": (record.key or b"").decode("utf-8", "replace"),
        "value": value[:200].decode("utf-8", "replace"),
        "bytes": len(value),
        "letter": {"partition": record.partition, "offset": record.offset},
    }
