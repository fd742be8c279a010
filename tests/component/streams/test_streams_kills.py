"""The entry gate of the streams: killed with SIGKILL under load, they lose no fault and repeat none under another id.

`make test` kills five times; `GPUWARD_SOAK_KILLS=200 pytest -m soak` kills as often as it is told (25 by default).
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter

import pytest

from gpuward.contracts.identity import NodeId
from tests.component.streams.feeding import Told, Worker, producing, send
from tests.unit.streams.making import batch, gpu, sample, slot, xid

pytestmark = pytest.mark.asyncio(loop_scope="module")
GPUS = 8
IN_FLIGHT = 64
BACKLOG = 2000
"""So many faults may wait at most: what is tested is loss, not how much a loaded machine can take in."""


class Load:
    """Nodes that appear one after the other; each GPU of each falls off the bus once. `due` is what must be told."""

    def __init__(self, settings, told: Told, rate: float) -> None:
        self._settings, self._told, self._pause = settings, told, IN_FLIGHT / rate
        self.due: set[str] = set()
        self._over = asyncio.Event()

    def stop(self) -> None:
        self._over.set()

    async def run(self) -> None:
        async with producing(self._settings) as producer:
            number = 0
            while not self._over.is_set():
                began = time.monotonic()
                if len(self.due) - len(self._told.records) < BACKLOG:
                    await asyncio.gather(*(self._node(producer, number + i) for i in range(IN_FLIGHT // GPUS)))
                    number += IN_FLIGHT // GPUS
                await asyncio.wait(
                    [asyncio.create_task(self._over.wait())],
                    timeout=max(0.0, self._pause - (time.monotonic() - began)),
                )

    async def _node(self, producer, number: int) -> None:
        node = NodeId(f"kill-{number}")
        owners = [gpu(index, number + 10) for index in range(GPUS)]
        at = number / 100
        await send(producer, batch(sample(at, gpus=GPUS, owners=owners), node=node))
        for index in range(GPUS):
            line = xid(79, at + index / 1000, device=index, seq=index + 1)
            await send(producer, batch(line.model_copy(update={"device": slot(index)}), node=node))
            self.due.add(f"gpu/{owners[index]}")


async def killed(settings, tmp_path, kills: int, rate: float) -> str:
    """Runs the load, kills the worker whenever another random number of faults was told, and checks the end."""
    chance = random.Random(7)
    started = time.monotonic()
    worker = Worker(settings, tmp_path / "worker.log")
    async with Told(settings) as told:
        load = Load(settings, told, rate)
        feeding = asyncio.create_task(load.run())
        try:
            for _ in range(kills):
                await worker.start()
                enough = len(told.records) + chance.randint(1, 400)
                await told.until(lambda told, enough=enough: len(told.records) >= enough, within_s=120)
                await worker.kill()
        finally:
            load.stop()
            await feeding
        async with worker:
            await told.until(lambda told: load.due <= {one.entity for one in told.faults()}, within_s=240)
            assert await worker.stop() == 0
        raised = [fault for fault in told.faults() if fault.phase == "raised"]
    ids = {fault.entity: {one.fault_id for one in raised if one.entity == fault.entity} for fault in raised[:50]}
    assert all(len(one) == 1 for one in ids.values())
    assert len({fault.fault_id for fault in raised}) == len(load.due)
    again = sum(count - 1 for count in Counter(fault.fault_id for fault in raised).values())
    return f"{kills} kills, {len(load.due)} faults due, 0 lost, {again} told again, {time.monotonic() - started:.0f} s"


@pytest.mark.timeout(400)
async def test_killed_five_times_under_load_it_loses_nothing(settings, tmp_path, record_property):
    record_property("result", await killed(settings, tmp_path, kills=5, rate=200))


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_killed_many_times_under_load_it_loses_nothing(settings, tmp_path, record_property):
    kills = int(os.environ.get("GPUWARD_SOAK_KILLS", "25"))
    result = await killed(settings, tmp_path, kills, rate=200)
    record_property("result", result)
    sys.stdout.write(f"{result}\n")


@pytest.mark.soak
@pytest.mark.timeout(240)
async def test_killed_at_each_failpoint_it_tells_the_fault_under_one_id(settings, tmp_path):
    """At each failpoint: killed once, and the fault is told with one id, acknowledged before the view is written."""
    for number, point in enumerate(("fault acknowledged", "view written")):
        node = NodeId(f"failpoint-{number}")
        once = tmp_path / f"once-{number}"
        own = settings.model_copy(update={"data": tmp_path / f"data-{number}"})
        environment = {"GPUWARD_FAILPOINT": point, "GPUWARD_FAILPOINT_ONCE": str(once)}
        worker = Worker(own, tmp_path / "worker.log", **environment)
        async with worker, Told(settings) as told, producing(settings) as producer:
            await send(producer, batch(xid(79, 200_000 + number), node=node))
            assert worker.process is not None
            await worker.process.wait()
            assert once.exists()
            await worker.start()
            await told.until(lambda told, node=node: told.of(node))
            await send(producer, batch(xid(48, 200_100 + number, device=1), node=node))
            await told.until(lambda told, node=node: len({one.fault_id for one in told.of(node)}) == 2)
            raised = [one for one in told.of(node) if one.fault_class == "gpu.xid.79"]
        assert len({one.fault_id for one in raised}) == 1
        assert len({one.revision for one in raised}) == 1
