"""What the world is told of an episode: raised once, a changed verdict at once, a changed count at most once a minute,
cleared once.

Law: a revision is computed from the log (seat epoch, episode start, offset of the causing batch, index), so it is the
same after any restart, and rises over all episodes of a class on an entity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from gpuward.contracts.faults import Fault, Revision, fault_id
from gpuward.contracts.remedies import Verdict
from gpuward.contracts.seat import Seat
from gpuward.contracts.topics import INVENTORY
from streams.rules.context import Context, from_ms
from streams.rules.view import Episode, Place, Told

COUNTS_EVERY_MS = 60_000
FOLDED = "folded into "
"""How the reason of a clear begins when the episode lives on as part of another."""
Phase = Literal["raised", "updated", "cleared"]


@dataclass(slots=True)
class Teller:
    """Numbers the faults of one batch."""

    context: Context
    verdict: Callable[[Episode], Verdict]
    seat: Callable[[Place], Seat]
    reseated: bool
    """Whether this record moved something, so that seats have to be told anew."""
    boot_id: str = ""
    """The node's current boot, where it is known."""
    _index: int = field(default=0, init=False)

    def closed(self, episode: Episode, because: str) -> list[Fault]:
        """The clear. One that nobody was told of is told whole, unless it only became part of another."""
        faults = []
        if episode.told is None:
            if because.startswith(FOLDED):
                return []
            episode, fault = self._tell(episode, "raised")
            faults.append(fault)
        return [*faults, self._tell(episode, "cleared", because)[1]]

    def standing(self, episode: Episode) -> tuple[Episode, Fault] | None:
        """Raised, updated, or nothing to tell."""
        told = episode.told
        if told is None:
            return self._tell(episode, "raised")
        stated = (episode.codes, episode.recovery_action) != (told.codes, told.recovery_action)
        due = episode.count != told.count and self.context.now_ms - told.at_ms >= COUNTS_EVERY_MS
        moved = self.reseated and told.seat != self.seat(episode.place)
        return self._tell(episode, "updated") if stated or due or moved else None

    def _tell(self, episode: Episode, phase: Phase, because: str = "") -> tuple[Episode, Fault]:
        seat = self.seat(episode.place)
        verdict = episode.told.verdict if phase == "cleared" and episode.told else self.verdict(episode)
        told = Told(
            revision=self._revision(episode, seat),
            at_ms=self.context.now_ms,
            count=episode.count,
            verdict=verdict,
            codes=episode.codes,
            recovery_action=episode.recovery_action,
            seat=seat,
        )
        return episode.model_copy(update={"told": told}), _fault(episode, told, phase, because, self.boot_id)

    def _revision(self, episode: Episode, seat: Seat) -> Revision:
        """Offsets are those of the observations; what an inventory record causes follows what was told last."""
        if self.context.topic != INVENTORY:
            self._index += 1
            return Revision(seat.epoch, episode.started_ms, self.context.offset, self._index - 1)
        if episode.told is not None:
            epoch, _, offset, index = tuple(episode.told.revision)
            return Revision(max(seat.epoch, epoch), episode.started_ms, offset, index + 1)
        offset = max((evidence.offset for evidence in episode.evidence), default=0)
        return Revision(seat.epoch, episode.started_ms, offset, 0)


def _fault(episode: Episode, told: Told, phase: Phase, because: str, current_boot_id: str) -> Fault:
    return Fault(
        phase=phase,
        fault_id=fault_id(episode.place.key, episode.fault_class, episode.boot_id, episode.started_ms),
        revision=told.revision,
        entity=episode.entity,
        seat=told.seat,
        fault_class=episode.fault_class,
        verdict=told.verdict,
        first_seen=from_ms(episode.first_ms),
        last_seen=from_ms(episode.last_ms),
        count=episode.count,
        boot_id=episode.boot_id,
        current_boot_id=current_boot_id,
        session=episode.session,
        codes=episode.codes,
        recovery_action=episode.recovery_action,
        evidence=episode.evidence,
        children=episode.children,
        cleared_because=because,
    )
