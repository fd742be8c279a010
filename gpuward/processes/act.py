"""Runs the activities: acts behind the interlock, the ledger, the records, messages to actors."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from activities.interlock import Interlock
from activities.powers import Powers
from activities.registry import build, on_queue
from activities.simulated.power import SimulatedPower
from gpuward.contracts.actions import ACT_QUEUE, LEDGER_QUEUE
from gpuward.contracts.errors import Transient
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Producer
from gpuward.runtime.records import Records
from gpuward.runtime.settings import Settings
from gpuward.runtime.temporal import connect_patiently


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """Two activity workers until `stop`: one for acts, one for the ledger and the records, so that neither delays the other."""
    client = await connect_patiently(settings, stop)
    producer = await _producer_patiently(settings, stop)
    if client is None or producer is None:
        return
    records = Records(settings.records)
    try:
        await asyncio.to_thread(records.create)
        powers = _powers(settings)
        implementations = build(
            powers,
            producer,
            records.entity,
            client,
            evidence_folder=settings.data / "evidence",
            interlock=Interlock(client, powers, begin_concurrency=settings.act_begin_concurrency),
            poll_s=settings.act_poll_s,
        )
        async with contextlib.AsyncExitStack() as stack:
            for queue in (ACT_QUEUE, LEDGER_QUEUE):
                await stack.enter_async_context(_worker(client, queue, on_queue(implementations, queue), settings))
            health.ready = True
            await stop.wait()
    finally:
        records.close()
        await producer.stop()


def _powers(settings: Settings) -> Powers:
    """What this installation can reach; the inventory says which power a node answers to."""
    return {SimulatedPower.name: SimulatedPower(settings.world)} if settings.world else {}


def _worker(client: Client, queue: str, activities: Sequence[Callable[..., Any]], settings: Settings) -> Worker:
    return Worker(
        client,
        task_queue=queue,
        activities=activities,
        max_concurrent_activities=100,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_grace_s),
    )


async def _producer_patiently(settings: Settings, stop: asyncio.Event) -> Producer | None:
    """A started producer, however long Kafka is away; None when `stop` came first."""
    while not stop.is_set():
        producer = Producer(settings, "gpuward-ledger")
        try:
            await producer.start()
        except Transient:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1.0)
        else:
            return producer
    return None
