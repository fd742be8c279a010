"""What the streams remember of one node. The durable part is a table's value; the volatile part is rebuilt from samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import Field

from gpuward.contracts.catalogue.xids import XidAction
from gpuward.contracts.faults import Evidence, Revision
from gpuward.contracts.identity import Entity, NodeId, Slot
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.model import Contract
from gpuward.contracts.observations import Column
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat


class Strength(NamedTuple):
    """Which of two codes is the root: the greater. It depends on the code and its line alone, never on arrival."""

    remedy: int = -1
    severity: int = -1
    precedence: int = 0
    person: bool = False


class Place(NamedTuple):
    """Whom an occurrence concerns; `slot` only where nobody knows which GPU sits there."""

    entity: Entity
    slot: Slot | None = None

    @property
    def key(self) -> str:
        return f"{self.entity}#{self.slot}" if self.slot else str(self.entity)


class Told(Contract):
    """What the world was last told of an episode."""

    revision: Revision
    at_ms: int
    count: int
    verdict: Verdict
    codes: tuple[int, ...]
    recovery_action: int | None
    seat: Seat


class Episode(Contract):
    """One open fault: from its first occurrence until it is cleared."""

    entity: Entity
    slot: Slot | None = None
    """Only of a slot fault, which its node answers for because nobody knows which GPU sits there."""
    fault_class: str
    root: int | None = None
    action: XidAction | None = None
    strength: Strength = Strength()
    started_ms: int
    """First occurrence of the root itself: the fault's identity."""
    first_ms: int
    last_ms: int
    count: int = 1
    boot_id: str = ""
    session: str = ""
    codes: tuple[int, ...] = ()
    recovery_action: int | None = None
    recovery_ms: int = 0
    evidence: tuple[Evidence, ...] = ()
    children: tuple[Entity, ...] = ()
    told: Told | None = None

    @property
    def place(self) -> Place:
        return Place(self.entity, self.slot)

    @property
    def key(self) -> str:
        return f"{self.place.key}|{self.fault_class}"


class Ranges(NamedTuple):
    """Kernel-log sequence numbers seen of one kind of line under one boot, as disjoint ascending ranges."""

    spans: tuple[tuple[int, int], ...] = ()
    at_ms: int = 0
    offset: int = 0


class NodeView(Contract):
    """The durable part, written only when it changed. Its size does not grow with history."""

    node: NodeId
    boot_id: str = ""
    boot_ms: int = 0
    open: dict[str, Episode] = Field(default_factory=dict)
    ids: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """First 8 bytes (hex) of the id of a recent discrete observation → (event time in ms, offset)."""
    ranges: dict[str, Ranges] = Field(default_factory=dict)
    maps: dict[str, dict[Slot, str]] = Field(default_factory=dict)
    """Boot id → slot → GPU UUID; the newest few boots, newest last."""
    sessions: dict[str, str] = Field(default_factory=dict)
    """GPU → driver session, under the view's boot."""
    repaired: dict[str, int] = Field(default_factory=dict)
    """Place → time in ms of the sample that proved a repair: what happened before it is history."""
    sampled_ms: int = 0
    inventory: dict[str, NodeInventory] = Field(default_factory=dict)
    """Source → its record."""
    seats: dict[str, tuple[str, int]] = Field(default_factory=dict)
    """Entity → (what names its seat, epoch in ms)."""


@dataclass(slots=True)
class Volatile:
    """Levels and counters as last heard, lost at each restart. Empty until a full sample came."""

    slots: tuple[Slot, ...] = ()
    gpus: tuple[str, ...] = ()
    columns: dict[str, Column] = field(default_factory=dict)
    sampled_ms: int = 0

    def column(self, name: str) -> Column:
        """The newest values, one per GPU; as many Nones where the column was never given."""
        values = self.columns.get(name)
        return values if values is not None and len(values) == len(self.gpus) else [None] * len(self.gpus)
