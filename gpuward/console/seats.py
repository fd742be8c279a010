"""Moves a seat into an entity record. Law: the greater epoch wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuward.contracts.entities import EntityRecord

_PLACES = ("node", "slot", "rack", "domain", "pool")


def reseated(record: EntityRecord, seat: Mapping[str, Any], epoch: int) -> EntityRecord:
    """The record standing in `seat` and nowhere else."""
    return record.model_copy(update={**{place: _text(seat.get(place)) for place in _PLACES}, "seat_epoch": epoch})


def filled(record: EntityRecord, seat: Mapping[str, Any]) -> EntityRecord:
    """The record with the places that it did not know yet."""
    new = {
        place: _text(seat[place]) for place in _PLACES if getattr(record, place) is None and seat.get(place) is not None
    }
    return record.model_copy(update=new) if new else record


def moved(record: EntityRecord, seat: Mapping[str, Any]) -> EntityRecord:
    """The record with the places that `seat` names, the others as they were."""
    new = {place: _text(seat[place]) for place in _PLACES if seat.get(place) is not None}
    return record.model_copy(update=new)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
