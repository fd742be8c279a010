"""A world served over real HTTP in this process, for the tests of whoever speaks to one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from gpuward.simulator.app import World, serve
from gpuward.simulator.client import WorldClient
from gpuward.simulator.durations import Durations
from gpuward.simulator.layout import Layout
from gpuward.simulator.store import Store


@dataclass(frozen=True)
class Running:
    url: str
    client: WorldClient
    world: World


@contextlib.asynccontextmanager
async def running_world(path: Path | None = None, *, scale: float = 1200, **layout):
    store = Store(path)
    shape = Layout(**{"racks": 2, "nodes_per_rack": 2, "gpus_per_node": 8, "seed": 3, **layout})
    live = World(store.open(shape, Durations(scale=scale), time.time()), store)
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(live, "127.0.0.1", 0, stop, port.set_result))
    url = f"http://127.0.0.1:{await port}"
    try:
        async with WorldClient(url, timeout_s=3) as client:
            yield Running(url, client, live)
    finally:
        stop.set()
        await serving


async def eventually(check, within_s: float = 20.0):
    """The first true answer of `check`, asked until the time is over."""
    until = time.monotonic() + within_s
    while True:
        answer = await check()
        if answer or time.monotonic() > until:
            assert answer, "it did not come about in time"
            return answer
        await asyncio.sleep(0.05)
