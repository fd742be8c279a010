"""Lifecycle of an entity: one pure table. Every edge is an outcome record; an edge that is not here is a defect."""

from __future__ import annotations

from enum import StrEnum


class Lifecycle(StrEnum):
    """Where an entity is. `blind` (no fresh view) is a flag beside it, not a state."""

    HEALTHY = "healthy"
    SUSPECT = "suspect"
    DEGRADED = "degraded"
    FAILED = "failed"
    DRAINING = "draining"
    REPAIRING = "repairing"
    VALIDATING = "validating"
    QUARANTINED = "quarantined"
    MAINTENANCE = "maintenance"
    RETIRED = "retired"


_L = Lifecycle
_UNWELL = {_L.SUSPECT, _L.DEGRADED, _L.FAILED}

EDGES: dict[Lifecycle, frozenset[Lifecycle]] = {
    _L.HEALTHY: frozenset({*_UNWELL, _L.DRAINING, _L.QUARANTINED, _L.MAINTENANCE, _L.RETIRED}),
    _L.SUSPECT: frozenset(
        {_L.HEALTHY, _L.DEGRADED, _L.FAILED, _L.DRAINING, _L.QUARANTINED, _L.MAINTENANCE, _L.RETIRED}
    ),
    _L.DEGRADED: frozenset(
        {_L.HEALTHY, _L.SUSPECT, _L.FAILED, _L.DRAINING, _L.QUARANTINED, _L.MAINTENANCE, _L.RETIRED}
    ),
    _L.FAILED: frozenset(
        {_L.HEALTHY, _L.SUSPECT, _L.DEGRADED, _L.DRAINING, _L.QUARANTINED, _L.MAINTENANCE, _L.RETIRED}
    ),
    _L.DRAINING: frozenset({_L.HEALTHY, *_UNWELL, _L.REPAIRING, _L.QUARANTINED, _L.MAINTENANCE, _L.RETIRED}),
    _L.REPAIRING: frozenset({_L.VALIDATING, *_UNWELL, _L.QUARANTINED, _L.RETIRED}),
    _L.VALIDATING: frozenset({_L.HEALTHY, *_UNWELL, _L.DRAINING, _L.REPAIRING, _L.QUARANTINED, _L.RETIRED}),
    _L.QUARANTINED: frozenset({_L.HEALTHY, *_UNWELL, _L.DRAINING, _L.MAINTENANCE, _L.RETIRED}),
    _L.MAINTENANCE: frozenset({_L.HEALTHY, *_UNWELL, _L.VALIDATING, _L.QUARANTINED, _L.RETIRED}),
    _L.RETIRED: frozenset({_L.HEALTHY}),
}
"""A retired entity comes back only by a person's release or a new seat."""


def may_move(before: Lifecycle, after: Lifecycle) -> bool:
    """Whether the table has this edge."""
    return after in EDGES[before]
