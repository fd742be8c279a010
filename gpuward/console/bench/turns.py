"""Faults at a set rate, in turns: a few of one side, then as many of the other, so that drift of the machine hits both alike
and each side is measured under its own load alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from gpuward.console.bench.fleet import Place
from gpuward.console.bench.hands import Hands
from gpuward.console.bench.sides import Side
from gpuward.contracts.errors import Transient

PER_TURN = 6
"""Faults. At 3 a second the first repair is held back for two seconds: far under its activity's timeout."""
CHAINS_S = 15.0
REPAIRS_S = 120.0
"""A turn whose chains, or whose repairs after them, take longer ends the benchmark."""


async def _at_once() -> None:
    pass


async def through(
    side: Side,
    hands: Hands,
    places: Sequence[Place],
    rate: float,
    number: int,
    held: Callable[[], Awaitable[None]] = _at_once,
) -> dict[Place, float]:
    """Raises one fault at each place, `rate` a second, and returns when every repair has ended and all is quiet.

    An open loop: a slow chain does not delay the next fault. Answers milliseconds from just before the signal to the
    beginning of the first activity. `held` is awaited while every repair is held back at its first activity. Raises
    Transient when a chain does not come through.
    """
    hands.gate.clear()
    began = time.monotonic()
    raised: dict[Place, float] = {}

    async def one(place: Place, position: int) -> None:
        await asyncio.sleep(began + position / rate - time.monotonic())
        raised[place] = time.monotonic()
        await side.raise_fault(place, number + position)

    await asyncio.gather(*(one(place, position) for position, place in enumerate(places)))
    await _until(lambda: all(place.uuid in hands.begun for place in places), CHAINS_S, f"chains to {side.first}")
    await held()
    ended = len(hands.handed_back) + (len(places) if side.repairs else 0)
    hands.gate.set()
    await _until(lambda: len(hands.handed_back) >= ended, REPAIRS_S, "repairs")
    await hands.until_quiet()
    return {place: (hands.begun.pop(place.uuid) - raised[place]) * 1000 for place in places}


async def _until(done: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not done():
        if time.monotonic() > deadline:
            raise Transient(f"Not all {what} came through within {within_s:.0f} s: measure on a quieter machine.")
        await asyncio.sleep(0.02)  # what is waited for happens in activities of this process, in any order
