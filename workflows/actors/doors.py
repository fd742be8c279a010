"""The signal and the query that every actor has."""

from __future__ import annotations

from typing import Any

from temporalio import workflow
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actors import ActorView
    from gpuward.contracts.messages import DELIVER
    from workflows.actors.shell import Shell


class Doors:
    """`shell` is made in the actor's `__init__`, before any message is handled."""

    shell: Shell[Any]

    @workflow.signal(name=DELIVER)
    def deliver(self, items: RawValue) -> None:
        """A list of messages, kept raw."""
        self.shell.take(items)

    @workflow.query(name="view")
    def view(self) -> ActorView:
        """What a person wants to see of this actor."""
        return self.shell.view()


def need_person(person: str) -> None:
    """For validators. Raises ValueError where nobody says who is asking: such an update leaves no trace in history."""
    if not person.strip():
        raise ValueError("say who is asking: `person` is empty")
