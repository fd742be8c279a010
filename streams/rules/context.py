"""What a rule is told besides the event: where it was read, what time it is, and how policy judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from gpuward.contracts.catalogue.xids import XidAction
from gpuward.contracts.identity import Entity
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat
from gpuward.contracts.topics import OBSERVATIONS


@dataclass(frozen=True, slots=True)
class Facts:
    """What policy judges: one condition on one entity, all codes folded into it."""

    fault_class: str
    entity: Entity
    codes: tuple[int, ...] = ()
    count: int = 1
    recovery_action: int | None = None
    action: XidAction | None = None
    """What the line itself asks for (144-150 registers, 94/95 reset flags), where it says more than its code."""


class Classify(Protocol):
    """Gives the verdict of policy; pure, the same for the same facts and seat."""

    def __call__(self, facts: Facts, seat: Seat) -> Verdict: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One record's surroundings. `now` is the partition's event-time watermark, never the wall."""

    partition: int
    offset: int
    now: datetime
    classify: Classify
    pools: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Pool name → labels, as `inventory.merge` takes it."""
    overlap_records: int = 2000
    overlap_s: float = 120.0
    topic: str = OBSERVATIONS
    by_slot: bool = False
    """Explain: a GPU without a known UUID is `gpu/<slot>`, not a slot fault of its node."""

    @property
    def now_ms(self) -> int:
        return to_ms(self.now)


def to_ms(time: datetime) -> int:
    """Milliseconds since the epoch."""
    return round(time.timestamp() * 1000)


def from_ms(ms: int) -> datetime:
    """The aware time of so many milliseconds since the epoch."""
    return datetime.fromtimestamp(ms / 1000, UTC)
