"""The signal and the query that every actor has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorView
    from gpuward.contracts.messages import DELIVER
    from workflows.actors.shell import Shell


class Doors:
    """`shell` is made in the actor's `__init__`, before any message is handled."""

    shell: Shell[Any]

    @workflow.signal(dynamic=True)
    def deliver(self, name: str, lists: Sequence[RawValue]) -> None:
        """Lists of messages, kept raw. Dynamic, since a named handler that gets too many arguments or none raises, and the
        actor would be stuck on that signal forever. Any name but `deliver` is told of as unreadable.
        """
        for items in lists:
            self.shell.take(items)
        if name != DELIVER:
            self.shell.take(RawValue(Payload(data=json.dumps(f"signal {name}").encode())))

    @workflow.query(name="view")
    def view(self) -> ActorView:
        """What a person wants to see of this actor."""
        return self.shell.view()


def need_person(person: str) -> None:
    """For validators. Raises ValueError where nobody says who is asking: such an update leaves no trace in history."""
    if not person.strip():
        raise ValueError("say who is asking: `person` is empty")
