"""Which actor a record is for, and what it is told. Pure: rows in `topics.py` and `actors.py` decide.

A record is for the actor of the entity in its key. A kind of entity that has no actor of its own (an NVLink domain, an
NVSwitch) is spoken for by the rack in its seat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from gpuward.contracts.actors import ACTORS, Actor
from gpuward.contracts.envelope import REROUTED
from gpuward.contracts.identity import Entity
from gpuward.contracts.model import Contract
from gpuward.contracts.topics import TOPICS
from streams.record import Record

SOURCE = "_source"
"""Key added to every message: topic, partition and offset of its record. Contracts ignore what they do not know."""
_SOURCE_BYTES = 96


@dataclass(frozen=True, slots=True)
class Routed:
    """`lane` is the entity whose order is kept, `target` the one whose actor is told. `size` is in bytes of JSON."""

    lane: Entity
    target: Entity
    message: dict[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The record lies on another partition than its key says, and was not re-routed yet."""

    partition: int


@dataclass(frozen=True, slots=True)
class Unroutable:
    """No actor can be told. `reason` is one of few words, fit for a label; `text` a sentence for a person."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A compacted key that ended: nothing to tell."""


def route(record: Record) -> Routed | Misplaced | Unroutable | Tombstone:
    """What to do with a record as it lies in the log."""
    row = TOPICS[record.topic]
    if record.key is None:
        return Unroutable("key", "the record has no key: it must be the entity that it is about")
    belongs = row.partition(record.key)
    if belongs != record.partition and all(name != REROUTED for name, _ in record.headers):
        return Misplaced(belongs)
    return address(record)


def address(record: Record) -> Routed | Unroutable | Tombstone:
    """Whom to tell, whatever partition the record lies on."""
    if record.value is None:
        return Tombstone() if TOPICS[record.topic].compacted else Unroutable("value", "the record has no value")
    try:
        model, message = _read(record.topic, record.value)
    except ValueError as error:
        return Unroutable("value", str(error))
    entity: Entity = model.entity  # type: ignore[attr-defined]  # every model of a topic for actors has one: a test holds it
    if record.key != entity.encode():
        key = (record.key or b"").decode("utf-8", "replace")
        return Unroutable("key", f"the key is {key!r} and the record is about {entity}")
    target = _target(entity, model)
    if target is None or record.topic not in ACTORS[target.kind].topics:
        return Unroutable("no-actor", f"no actor takes records about {entity} from {record.topic}, nor does its rack")
    message[SOURCE] = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return Routed(entity, target, message, len(record.value) + _SOURCE_BYTES)


def actor_of(target: Entity) -> Actor:
    """The row of a routed target."""
    return ACTORS[target.kind]


def _read(topic: str, value: bytes) -> tuple[Contract, dict[str, Any]]:
    """The record's model, which is checked, and its JSON, which is passed on with the fields that we do not know."""
    wanted = TOPICS[topic].model
    assert wanted is not None, f"{topic} is not for actors"
    try:
        model = wanted.model_validate_json(value)
        message: dict[str, Any] = orjson.loads(value)
    except ValidationError as error:
        raise ValueError(f"not a {wanted.__name__}: {_first(error)}") from error
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    message["kind"] = model.kind  # type: ignore[attr-defined]
    return model, message


def _target(entity: Entity, model: Contract) -> Entity | None:
    if entity.kind in ACTORS:
        return entity
    rack = getattr(getattr(model, "seat", None), "rack", None)
    return Entity.rack(rack) if rack else None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
