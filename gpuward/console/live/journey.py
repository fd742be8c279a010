"""The way of one fault through gpuward, as far as the ledger knows it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.outcomes import Outcome, OutcomeKind

Reached = Callable[[Outcome], bool]


def _step(name: str) -> Reached:
    return lambda outcome: outcome.what is OutcomeKind.STEP and outcome.name == name


def _act(*names: str) -> Reached:
    return lambda outcome: outcome.what is OutcomeKind.ACT and outcome.name in names


def _decision(*names: str) -> Reached:
    return lambda outcome: outcome.what is OutcomeKind.DECISION and outcome.name in names


def _node_edge(*after: str) -> Reached:
    return lambda outcome: (
        outcome.what is OutcomeKind.EDGE and outcome.after in after and outcome.entity.kind is EntityKind.NODE
    )


STAGES: tuple[tuple[str, Reached], ...] = (
    ("kernel log", lambda outcome: bool(outcome.cause.evidence)),
    ("incident", lambda outcome: outcome.what is OutcomeKind.INCIDENT_OPENED),
    ("claim", _decision("claimed")),
    ("plan", _decision("planned")),
    ("token", _decision("granted")),
    ("cordon", _step("cordon")),
    ("evict", _act("node.evict")),
    ("repair", _act("gpu.reset", "node.reboot", "node.power_cycle")),
    ("back up", _step("session")),
    ("validate", _step("validate")),
    ("healthy", _node_edge("healthy")),
)
"""What is shown, in order, and which outcome means that it has been reached."""


@dataclass(frozen=True, slots=True)
class Journey:
    """Where a fault is: stage → when it was reached. A later stage that was reached has passed all before it."""

    entity: Entity
    reached: dict[str, datetime]

    @property
    def current(self) -> int:
        """Index of the last stage reached, -1 before the first."""
        return max((i for i, (name, _) in enumerate(STAGES) if name in self.reached), default=-1)

    @property
    def ended(self) -> bool:
        return self.current == len(STAGES) - 1


def newest(outcomes: Sequence[Outcome]) -> Journey | None:
    """The journey of the newest incident; None where there was none. `outcomes` are in the order in which they happened."""
    opened = [i for i, outcome in enumerate(outcomes) if outcome.what is OutcomeKind.INCIDENT_OPENED]
    if not opened:
        return None
    first = outcomes[opened[-1]]
    faults = set(first.cause.fault_ids)
    plans = {o.cause.plan for o in outcomes if o.cause.plan and faults.intersection(o.cause.fault_ids)}
    reached: dict[str, datetime] = {}
    for outcome in outcomes[opened[-1] :]:
        cause = outcome.cause
        if outcome is first or cause.plan in plans or faults.intersection(cause.fault_ids):
            for name, is_reached in STAGES:
                if name not in reached and is_reached(outcome):
                    reached[name] = outcome.time
    return Journey(first.entity, reached)


def line(journey: Journey) -> Text:
    """The journey as one line: what is behind it, where it is, what is ahead."""
    shown = Text()
    for i, (name, _) in enumerate(STAGES):
        done = i < journey.current or journey.ended
        style = "green" if done else "bold yellow" if i == journey.current else "dim"
        shown.append(" ▸ " if i else "", style="dim").append(name, style=style)
    return shown
