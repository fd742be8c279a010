"""Who sits in a slot: a kernel line names only a PCI address, and is attributed by the slot map of *its own* boot id.

Law: a late line of an old boot blames nobody wrong. Where the map of its boot is unknown it stays a slot fault on the node.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpuward.contracts.identity import Entity, Slot
from gpuward.contracts.observations import GpuMissing, KernelFaultLogged, SxidLogged, XidLogged
from streams.rules.draft import Draft
from streams.rules.view import Episode, Place

KEPT_BOOTS = 4


def place_of_line(draft: Draft, line: XidLogged | SxidLogged | KernelFaultLogged | GpuMissing, boot_id: str) -> Place:
    """The GPU that sat there under this boot, else the slot of the node, else the node."""
    node = Entity.node(draft.view.node)
    if line.device is None:
        return Place(node)
    known = draft.maps.get(boot_id, {}).get(line.device) or getattr(line, "gpu", None)
    if known:
        return Place(Entity.gpu(known))
    if draft.context.by_slot:
        return Place(Entity.gpu(line.device))
    return Place(node, line.device)


def learn(draft: Draft, boot_id: str, seats: Iterable[tuple[Slot, str]]) -> None:
    """Adds to the map of this boot; slot faults of this boot whose GPU is now known move to it."""
    known = draft.maps.get(boot_id, {})
    news = {slot: str(gpu) for slot, gpu in seats if known.get(slot) != gpu}
    if not news or not boot_id:
        return
    draft.maps = {**draft.maps, boot_id: {**known, **news}}
    for old in list(draft.maps)[:-KEPT_BOOTS]:
        del draft.maps[old]
    draft.changed = True
    for episode in list(draft.open.values()):
        if episode.slot in news and episode.boot_id == boot_id:
            _move(draft, episode, Place(Entity.gpu(news[episode.slot])))


def _move(draft: Draft, episode: Episode, place: Place) -> None:
    """The same occurrences, told of another entity from now on."""
    there = draft.get(place, episode.fault_class)
    if there is None:
        there = episode.model_copy(
            update={"entity": place.entity, "slot": None, "told": None, "count": 0, "codes": (), "evidence": ()}
        )
    draft.fold(episode, there)
