"""One chain alone on the server: how many workflow tasks it costs, counted from histories."""

from __future__ import annotations

import time
from typing import NamedTuple

from gpuward.console.bench.fleet import Place
from gpuward.console.bench.hands import Hands
from gpuward.console.bench.histories import History, Tasks, count
from gpuward.console.bench.hops import hops
from gpuward.console.bench.sides import Side
from gpuward.console.bench.turns import through


class Counted(NamedTuple):
    """Over all actors of the chain, its child included."""

    in_sequence: int
    to_first_activity: Tasks
    """Completed before the first activity began."""
    until_quiet: Tasks
    """And those that the chain caused and that came later: confirmations of signals and child starts."""
    whole: Tasks
    """Up to the node's return, and all is quiet."""
    by_actor: dict[str, int]
    """Until quiet, without ledger acknowledgements."""


async def count_one(side: Side, hands: Hands, place: Place, number: int) -> Counted:
    """Raises one fault, holds its repair back until all is quiet, then lets it end."""
    marks: list[int] = []

    async def held() -> None:
        await hands.until_quiet(1.5)
        marks.append(time.time_ns())

    await through(side, hands, [place], 1.0, number, held)
    found = await side.histories(place)
    path = hops(found, side.mark(place), side.first)
    gpu, node, rack, pool, _, child = found
    whole = dict(zip(("gpu", "node", "rack", "pool", "child"), (gpu, node, rack, pool, child), strict=True))
    began, first, quiet = path[0].at, path[-1].at, marks[0]
    return Counted(
        in_sequence=sum(hop.tasks for hop in path),
        to_first_activity=_sum(whole, began, first),
        until_quiet=_sum(whole, began, quiet),
        whole=_sum(whole, began, None),
        by_actor={name: count(events, began, quiet).other for name, events in whole.items()},
    )


def _sum(whole: dict[str, History], since: int, until: int | None) -> Tasks:
    counts = [count(events, since, until) for events in whole.values()]
    return Tasks(sum(each.other for each in counts), sum(each.ledger for each in counts))
