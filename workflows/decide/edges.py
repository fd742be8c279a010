"""Moves a lifecycle along the contract's table and notes each edge.

Law: an edge that is not in the table is never taken. Where a message was lost (no `draining` before `repairing`), the
shortest way that the table allows is walked and noted edge by edge.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from gpuward.contracts.lifecycle import EDGES, Lifecycle
from gpuward.contracts.outcomes import Cause, OutcomeKind
from workflows.decide.decisions import Decision, Note

_STEPS = (Lifecycle.DRAINING, Lifecycle.REPAIRING, Lifecycle.VALIDATING, Lifecycle.HEALTHY)
"""The only states that are walked through on the way to another."""


def move(before: Lifecycle, after: Lifecycle, out: list[Decision], cause: Cause, text: str = "") -> Lifecycle:
    """Appends one EDGE note per edge to `out` and returns where the entity is then; `before` when there is no way."""
    for here, there in _way(before, after):
        out.append(
            Note(OutcomeKind.EDGE, name=there.value, text=text, before=here.value, after=there.value, cause=cause)
        )
        before = there
    return before


def _way(before: Lifecycle, after: Lifecycle) -> list[tuple[Lifecycle, Lifecycle]]:
    ways = deque([[before]])
    seen = {before}
    while ways and before is not after:
        way = ways.popleft()
        if after in EDGES[way[-1]]:
            way.append(after)
            return list(pairwise(way))
        for step in _STEPS:
            if step in EDGES[way[-1]] and step not in seen:
                seen.add(step)
                ways.append([*way, step])
    return []
