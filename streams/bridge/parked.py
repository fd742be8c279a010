"""Which entities of one partition are parked, and how far each is re-driven. Pure.

The parking topic has the partition count of the topics for actors and the same keys, so an entity's parked records lie in
one partition, which the process that owns its live records owns too.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuward.contracts.identity import Entity


@dataclass(slots=True)
class _Span:
    due: int
    """Offset of the first record not yet re-driven, or of another entity's record before it."""
    last: int


class Parked:
    """One partition of `fleet.parked.v1`.

    Law: once one record of an entity is parked, all later ones follow, until every one is re-driven. `position` never
    passes a parked record that was not re-driven.
    """

    def __init__(self, tail: int = 0) -> None:
        """`tail` is the offset from which on nothing is known yet."""
        self.tail = tail
        self._spans: dict[Entity, _Span] = {}

    def holds(self, entity: Entity) -> bool:
        return entity in self._spans

    def note(self, entity: Entity, offset: int) -> None:
        """A record of this entity lies at `offset`. Noting one twice, or one that was re-driven meanwhile, changes nothing."""
        span = self._spans.get(entity)
        if span is None:
            self._spans[entity] = _Span(offset, offset)
        else:
            span.last = max(span.last, offset)
        self.tail = max(self.tail, offset + 1)

    def passed(self, offset: int) -> None:
        """What lies at `offset` concerns nobody."""
        self.tail = max(self.tail, offset + 1)

    def is_due(self, entity: Entity, offset: int) -> bool:
        span = self._spans.get(entity)
        return span is not None and offset >= span.due

    def redriven(self, entity: Entity, offset: int) -> None:
        """The actor took in everything of this entity up to and with `offset`."""
        span = self._spans.get(entity)
        if span is None:
            return
        span.due = max(span.due, offset + 1)
        if span.due > span.last:
            del self._spans[entity]

    @property
    def entities(self) -> frozenset[Entity]:
        return frozenset(self._spans)

    @property
    def position(self) -> int:
        """The offset to commit, and to read from: everything before it is re-driven."""
        return min((span.due for span in self._spans.values()), default=self.tail)
