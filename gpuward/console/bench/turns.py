"""Faults at a set rate, in turns: a few of one side, then as many of the other, so that drift of the machine hits both alike
and each side is measured under its own load alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuward.console.bench.fleet import Place
from gpuward.console.bench.hands import Hands
from gpuward.console.bench.sides import Side
from gpuward.contracts.errors import Transient

PER_TURN = 6
"""Faults. At 3 a second the first repair is held back for two seconds: far under its activity's timeout."""
WITHIN_S = 15.0
"""A chain that has not come through by then ends the benchmark."""


@dataclass
class Measured:
    """Milliseconds from the fault to the beginning of the first activity, of each place."""

    ms: dict[Place, float] = field(default_factory=dict)


async def take_turn(side: Side, hands: Hands, places: Sequence[Place], rate: float, number: int) -> dict[Place, float]:
    """Raises one fault at each place, `rate` a second, and returns when every repair has ended and all is quiet.

    An open loop: a slow chain does not delay the next fault. Milliseconds from just before the signal to the beginning of
    the first activity. Raises Transient when a chain does not come through.
    """
    hands.gate.clear()
    began = time.monotonic()
    raised: dict[Place, float] = {}

    async def one(place: Place, position: int) -> None:
        await asyncio.sleep(began + position / rate - time.monotonic())
        raised[place] = time.monotonic()
        await side.raise_fault(place, number + position)

    await asyncio.gather(*(one(place, position) for position, place in enumerate(places)))
    await _until(lambda: all(place.uuid in hands.begun for place in places), f"{len(places)} chains of {side.first}")
    handed_back = len(hands.handed_back)
    hands.gate.set()
    if side.repairs:
        await _until(lambda: len(hands.handed_back) >= handed_back + len(places), "a repair")
    await hands.until_quiet()
    return {place: (hands.begun.pop(place.uuid) - raised[place]) * 1000 for place in places}


async def _until(done, what: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not done():
        if time.monotonic() > deadline:
            raise Transient(f"Not finished within {WITHIN_S:.0f} s: {what}. See the logs, or measure on a quieter machine.")
        await asyncio.sleep(0.02)
