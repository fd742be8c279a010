"""A call that may hang, kept from stopping anyone else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class LimitedCall(Generic[T]):
    """Runs `call` in a daemon thread, one at a time. The caller waits as long as it likes and comes back later.

    Law: while a call hangs no second one is begun, so a dead device costs one thread, and none of its results is lost.
    """

    def __init__(self, call: Callable[[], T], name: str) -> None:
        self._call = call
        self._name = name
        self._running: Future[T] | None = None

    def begin(self) -> Future[T]:
        """The future of the call in flight, or of a new one, until `taken`."""
        if self._running is None:
            self._running = Future()
            threading.Thread(target=self._run, args=(self._running,), name=self._name, daemon=True).start()
        return self._running

    def taken(self) -> None:
        """The result was used: the next `begin` starts anew."""
        self._running = None

    def _run(self, future: Future[T]) -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(self._call())
        except BaseException as error:  # noqa: BLE001 - whatever it was, the one who waits gets it
            future.set_exception(error)
