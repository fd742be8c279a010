"""The simulated world as a process. Its address goes into `<data>/world.url`, where the other processes find it."""

from __future__ import annotations

import asyncio
import socket
import time

from gpuward.contracts.errors import Permanent
from gpuward.runtime.health import Health
from gpuward.runtime.settings import WORLD_FILE, Settings
from gpuward.simulator.app import World, serve
from gpuward.simulator.durations import Durations
from gpuward.simulator.layout import Layout
from gpuward.simulator.store import Store

LOOPBACK = "127.0.0.1"


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """Serves the world until `stop`. A world that was there before goes on, at its old address where that is free."""
    wanted = settings.simulation
    layout = Layout(racks=wanted.racks, nodes_per_rack=wanted.nodes, gpus_per_node=wanted.gpus, seed=wanted.seed)
    store = Store(settings.data / "world.json")
    world = World(store.open(layout, Durations(scale=wanted.time_scale), time.time()), store)
    address = settings.data / WORLD_FILE

    def ready(port: int) -> None:
        address.write_text(f"http://{LOOPBACK}:{port}\n")
        health.ready = True

    await serve(world, LOOPBACK, _port(settings), stop, ready)


def _port(settings: Settings) -> int:
    """The port asked for, else the one it had before, else a free one (0)."""
    if settings.simulation.port:
        return settings.simulation.port
    try:
        before = int((settings.data / WORLD_FILE).read_text().strip().rpartition(":")[2])
    except (OSError, ValueError):
        return 0
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, before))
        except OSError:
            return 0
    return before


def address_of(settings: Settings) -> str:
    """Base URL of the world. Raises Permanent where there is none."""
    if settings.world is None:
        raise Permanent(
            "No simulated world is known here: start `gpuward world`, or name its data directory with --data."
        )
    return settings.world
