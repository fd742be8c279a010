"""What the streams concluded: one *episode* of one condition on one entity."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Literal, NamedTuple

from gpuward.contracts.identity import Entity
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat

MAX_EVIDENCE = 8


class Revision(NamedTuple):
    """Computed from the log, so the same after any restart; rises over all episodes of a class on an entity.

    Law: an actor ignores what is not newer, so order can never hurt. Compared in field order: seat epoch (ms), episode
    start (ms), offset of the causing batch in `fleet.observations.v1`, part (which fault of that batch).
    """

    seat_epoch: int = 0
    episode_ms: int = 0
    offset: int = 0
    part: int = 0


class Evidence(Contract):
    """Where it can be read again: topic, partition, offset, and one line of text (at most 200 characters)."""

    topic: str
    partition: int
    offset: int
    text: str


class Fault(Contract):
    """Raised once; a changed verdict goes out at once, a changed count at most once a minute; cleared once.

    `codes` lists the codes folded into it (Xid numbers), newest last; `root` is the code that it is named by.
    """

    kind: Literal["fault"] = "fault"
    phase: Literal["raised", "updated", "cleared"]
    fault_id: str
    revision: Revision
    entity: Entity
    seat: Seat
    fault_class: str
    verdict: Verdict
    first_seen: datetime
    last_seen: datetime
    count: int = 1
    boot_id: str = ""
    current_boot_id: str = ""
    """The boot under which the node ran when this was told, as far as the streams knew; another than `boot_id` makes it
    a fault of an earlier boot, which is recorded and never acted on."""
    session: str = ""
    """The driver session of the GPU under which it was raised, where known."""
    codes: tuple[int, ...] = ()
    recovery_action: int | None = None
    evidence: tuple[Evidence, ...] = ()
    children: tuple[Entity, ...] = ()
    """Entities that a rack or domain fault explains away."""
    cleared_because: str = ""

    @property
    def event_type(self) -> str:
        return f"gpuward.fault.{self.phase}"


def fault_id(entity: str, fault_class: str, boot_id: str, episode_ms: int) -> str:
    """16 hex digits, deterministic: entity, class, boot id, episode start in ms."""
    return blake2b(f"{entity}|{fault_class}|{boot_id}|{episode_ms}".encode(), digest_size=8).hexdigest()
