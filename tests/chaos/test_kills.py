"""The stream worker killed with SIGKILL under load, again and again: no fault is lost."""

import asyncio
import random
from itertools import product

import pytest

CODES = {
    5: (8, 11, 13, 25, 32, 39, 40, 41, 60),
    25: (68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84),
    200: (*range(85, 87), 88, 89, *range(96, 106), *range(126, 136), 139),
}
"""Kills → codes that ask for a restart of the application: each is told, and nothing is done about it. A code that a GPU
has already is not told again, so no two runs share one.
"""
AT_ONCE = 40


class Load:
    """Each of these codes once on each second GPU of the fleet, in a random order. `due` is what must be told."""

    def __init__(self, fleet, seats, codes, chance):
        self._fleet = fleet
        self._waiting = list(product(seats, codes))
        chance.shuffle(self._waiting)
        self.due = set()

    async def some(self, count):
        """Logs so many lines, and returns the (GPU, code) that they must become."""
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        for (node, uuid, slot), code in batch:
            line = f"NVRM: Xid (PCI:{slot.rpartition('.')[0]}): {code}, pid=41235, name=python3, Ch 00000008"
            await self._fleet.world.inject(node=node, fault="kernel", lines=[line])
            self.due.add((f"gpu/{uuid}", code))
        return {(f"gpu/{uuid}", code) for (_, uuid, _), code in batch}


def _told(fleet):
    faults = [fault for fault in fleet.ledger.faults if isinstance(fault, dict)]  # other tests put garbage there
    return {(fault["entity"], code) for fault in faults for code in fault.get("codes", ())}


async def _seats(fleet):
    """The second GPU of every node that is up: the first is for the scenarios that repair."""
    up = [node["node"] for node in await fleet.world.nodes() if node["up"]]
    gpus = [(name, sorted((await fleet.world.host(name)).gpus, key=lambda gpu: gpu.slot)[1]) for name in sorted(up)]
    return [(name, gpu.uuid, gpu.slot) for name, gpu in gpus]


async def _killed(fleet, kills):
    chance = random.Random(7)
    seats = await _seats(fleet)
    await fleet.born(*(f"gpu/{uuid}" for _, uuid, _ in seats), timeout=120)
    load = Load(fleet, seats, CODES[kills], chance)
    at_once = min(AT_ONCE, len(seats) * len(CODES[kills]) // (kills + 1))
    restarts = fleet.restarts.get("streams", 0)
    acts = len((await fleet.world.counts()).acts)
    for _ in range(kills):
        known = _told(fleet)
        new = await load.some(at_once)
        assert new.isdisjoint(known)
        few = chance.randint(1, max(1, len(new) // 4))
        await fleet.ledger.until(lambda _, new=new, few=few: len(new & _told(fleet)) >= few, 120, "the next faults")
        await fleet.kill("streams")
    await load.some(at_once)
    try:
        await fleet.ledger.until(lambda _: load.due <= _told(fleet), 180, "the last fault")
    except TimeoutError as error:
        raise AssertionError(f"lost: {sorted(load.due - _told(fleet))}") from error
    recorded = {entity for entity, _ in load.due}
    await fleet.ledger.until(
        lambda all_: recorded <= {str(o.entity) for o in all_ if o.cause.fault_ids}, 60, "the ledger"
    )
    async with asyncio.timeout(30):
        await fleet.ready("streams")
    assert fleet.restarts["streams"] == restarts + kills
    assert acts == len((await fleet.world.counts()).acts), "something was done about it"
    return f"{kills} kills, {len(load.due)} faults due, 0 lost"


@pytest.mark.timeout(400)
@pytest.mark.soak
async def test_killed_five_times_under_load_nothing_is_lost(fleet, record_property):
    record_property("result", await _killed(fleet, 5))


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kills", [25, 200])
async def test_killed_many_times_under_load_nothing_is_lost(fleet, record_property, kills):
    record_property("result", await _killed(fleet, kills))
