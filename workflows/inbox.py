"""Incoming messages: kept raw as they come, decoded later and only so many at a time."""

from __future__ import annotations

from collections import deque
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    import pydantic
    import pydantic_core

    from gpuward.contracts.messages import MESSAGE, Message

PER_ACTIVATION = 200
"""At most this many items are decoded in one activation: the SDK gives a workflow task two seconds."""


class Unreadable:
    """An item that no model takes. `text` starts with why, and ends with the beginning of the item."""

    __slots__ = ("text",)

    def __init__(self, item: object, error: Exception) -> None:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        self.text = f"{first}: {str(item)[:300]}"


class Inbox:
    """First in, first out. Holds payloads of signals (a JSON list each) and items that were taken apart already."""

    def __init__(self, pending: list[dict[str, Any]]) -> None:
        self._waiting: deque[RawValue | list[Any]] = deque()
        self._bytes = 0
        if pending:
            self._waiting.append(list(pending))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def size(self) -> int:
        """Bytes of the payloads that wait."""
        return self._bytes

    def put(self, items: RawValue) -> None:
        """Keeps one signal. Never raises: whether it can be read is found out by `take`."""
        self._waiting.append(items)
        self._bytes += len(items.payload.data)

    def take(self, most: int = PER_ACTIVATION) -> list[Message | Unreadable]:
        """The next items in order, at most so many, each a message or why it is none."""
        taken: list[Message | Unreadable] = []
        while self._waiting and len(taken) < most:
            items = self._open(self._waiting.popleft(), taken)
            room = most - len(taken)
            taken += [_read(item) for item in items[:room]]
            if items[room:]:
                self._waiting.appendleft(items[room:])
        return taken

    def pending(self) -> list[dict[str, Any]]:
        """Everything that was not taken, for the next run. What cannot be read is wrapped so that it is still told of."""
        bad: list[Message | Unreadable] = []
        items = [item for waiting in self._waiting for item in self._open(waiting, bad)]
        shaped = [item if isinstance(item, dict) else {"kind": None, "item": str(item)[:300]} for item in items]
        return shaped + [{"kind": None, "item": lost.text} for lost in bad if isinstance(lost, Unreadable)]

    @property
    def backlog(self) -> int:
        """Signals that wait, for people; a part of one counts as one."""
        return len(self._waiting)

    def _open(self, waiting: RawValue | list[Any], bad: list[Message | Unreadable]) -> list[Any]:
        if isinstance(waiting, list):
            return waiting
        data = waiting.payload.data
        self._bytes -= len(data)
        try:
            items = pydantic_core.from_json(data)
        except ValueError as error:
            bad.append(Unreadable(data, error))
            return []
        return items if isinstance(items, list) else [items]


def _read(item: Any) -> Message | Unreadable:
    if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
        return Unreadable(item, ValueError("not a message: no kind"))
    try:
        return MESSAGE.validate_python(item)
    except pydantic.ValidationError as error:
        return Unreadable(item, error)
