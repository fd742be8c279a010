"""The story of an entity, as the ledger tells it: one line per outcome, with where each can be read again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuward.contracts.identity import EntityKind
from gpuward.contracts.outcomes import Outcome, OutcomeKind
from gpuward.contracts.topics import OUTCOMES

Told = tuple[Outcome, int, int]
"""An outcome with its partition and offset in `fleet.outcomes.v1`."""

_SHORT_GPU = len("gpu/GPU-12345678")
_SILENT = frozenset({OutcomeKind.CHECKPOINT})


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened."""

    outcome: Outcome
    partition: int
    offset: int

    @property
    def what(self) -> str:
        """What kind of thing it is, in a word or two."""
        outcome = self.outcome
        if outcome.what is OutcomeKind.EDGE:
            return f"{outcome.before} → {outcome.after}"
        named = str(outcome.what).replace("_", " ")
        if outcome.what in {OutcomeKind.DECISION, OutcomeKind.STEP, OutcomeKind.ACT} and outcome.name:
            named = outcome.name.replace("_", " ")
        return f"{named}: {outcome.result}" if outcome.result else named

    @property
    def who(self) -> str:
        """The entity, a GPU by the beginning of its UUID: it is enough to name it on the command line."""
        entity = self.outcome.entity
        return str(entity)[:_SHORT_GPU] if entity.kind is EntityKind.GPU else str(entity)

    @property
    def text(self) -> str:
        """The sentence for people; empty where it only repeats the edge."""
        outcome = self.outcome
        return "" if outcome.text in {outcome.before, outcome.after} else outcome.text

    def as_document(self) -> dict[str, Any]:
        """The line in plain JSON, as `gpuward why --json` prints it."""
        outcome, cause = self.outcome, self.outcome.cause
        return {
            "time": outcome.time.isoformat(),
            "entity": str(outcome.entity),
            "what": str(outcome.what),
            "name": outcome.name,
            "before": outcome.before,
            "after": outcome.after,
            "result": outcome.result,
            "text": outcome.text,
            "plan": cause.plan,
            "attempt": cause.attempt,
            "token": list(cause.token) if cause.token else None,
            "policy": cause.policy,
            "fault_ids": list(cause.fault_ids),
            "evidence": [evidence.model_dump(mode="json") for evidence in cause.evidence],
            "ledger": {"topic": OUTCOMES, "partition": self.partition, "offset": self.offset},
        }


def lines(told: Iterable[Told]) -> list[Line]:
    """The lines in the order in which things happened; an outcome that was appended twice is told once."""
    seen: set[str] = set()
    story: list[Line] = []
    for outcome, partition, offset in sorted(told, key=_order):
        if outcome.id in seen or outcome.what in _SILENT:
            continue
        seen.add(outcome.id)
        story.append(Line(outcome, partition, offset))
    return story


def _order(told: Told) -> tuple[Any, ...]:
    """Time first; of one workflow its own numbering, which the end of an outcome's id is."""
    outcome, partition, offset = told
    number = outcome.id.rpartition("/")[2]
    return (outcome.time, str(outcome.entity), int(number) if number.isdigit() else 0, partition, offset)


def plans_of(told: Sequence[Told]) -> list[str]:
    """The plans that these outcomes belong to, oldest first."""
    return list(dict.fromkeys(outcome.cause.plan for outcome, _, _ in told if outcome.cause.plan))


def faults_of(told: Iterable[Told]) -> set[str]:
    """The faults that these outcomes are about."""
    return {fault for outcome, _, _ in told for fault in outcome.cause.fault_ids}
