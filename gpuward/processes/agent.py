"""The agent: reads what can be seen on this node, or on every node of a simulated world, and publishes it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import NodeId
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Producer
from gpuward.runtime.metrics import gauge
from gpuward.runtime.process import Body
from gpuward.runtime.settings import Settings
from ingest.agent import Agent
from ingest.collectors.kernel_log import KernelLogCollector, KernelLogFileCollector, boot_time_of_host
from ingest.collectors.protocol import NodeSource
from ingest.collectors.simulated import SimulatedFeed
from ingest.local_node import LocalNode
from ingest.publisher import Publisher

Sources = Callable[[Settings], Sequence[NodeSource]]


def with_kernel_log(kernel_log: Path | None, node: str | None) -> Body:
    """The body of an agent of this machine, reading `kernel_log` in place of `/dev/kmsg` where one is given."""
    if kernel_log is None and node is None:
        return body

    def local(settings: Settings) -> Sequence[NodeSource]:
        own = NodeId(node or settings.host)
        if kernel_log is None:
            return [LocalNode(own, [KernelLogCollector()])]
        return [LocalNode(own, [KernelLogFileCollector(kernel_log, boot_time=boot_time_of_host())])]

    async def run(settings: Settings, health: Health, stop: asyncio.Event) -> None:
        await _run(settings, health, stop, local)

    return run


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """All nodes of the simulated world where there is one, else this machine."""
    await _run(settings, health, stop, _sources)


def _sources(settings: Settings) -> Sequence[NodeSource]:
    if settings.world:
        return SimulatedFeed(settings.world).sources()
    return [LocalNode(NodeId(settings.host), [KernelLogCollector()])]


async def _run(settings: Settings, health: Health, stop: asyncio.Event, sources: Sources) -> None:
    producer = await _started(settings, stop)
    found = await _found(settings, stop, sources)
    if producer is None or found is None:
        return
    publisher = Publisher(producer, source=f"agent/{settings.host}")
    buffered = gauge("gpuward_publisher_buffered_bytes")
    buffered.set_function(lambda: publisher.backlog.bytes)
    agent = Agent(found, publisher, clock=lambda: datetime.now(UTC), tick_s=settings.agent_tick_s)
    health.ready = True
    try:
        await agent.run(stop)
    finally:
        await publisher.close(settings.shutdown_grace_s)
        await producer.stop()


async def _started(settings: Settings, stop: asyncio.Event) -> Producer | None:
    while not stop.is_set():
        producer = Producer(settings, f"gpuward-agent-{settings.host}")
        try:
            await producer.start()
        except Transient:
            await _pause(stop)
        else:
            return producer
    return None


async def _found(settings: Settings, stop: asyncio.Event, sources: Sources) -> Sequence[NodeSource] | None:
    while not stop.is_set():
        try:
            return await asyncio.to_thread(sources, settings)
        except Transient:
            await _pause(stop)
    return None


async def _pause(stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), 1.0)
