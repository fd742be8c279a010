"""Runs the actors, guards and remediations: workflow code only, no activity, no credentials."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from gpuward.contracts.actors import DECIDE_QUEUE
from gpuward.runtime.health import Health
from gpuward.runtime.settings import Settings
from gpuward.runtime.temporal import connect_patiently
from workflows import ALL_WORKFLOWS


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """A workflow worker until `stop`; then it finishes the tasks it holds and leaves.

    The sandbox is for tests, which run every workflow in it: here it would double the memory of each actor.
    """
    client = await connect_patiently(settings, stop)
    if client is None:
        return
    worker = Worker(
        client,
        task_queue=DECIDE_QUEUE,
        workflows=ALL_WORKFLOWS,
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_cached_workflows=settings.workflow_cache,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_grace_s),
    )
    async with worker:
        health.ready = True
        await stop.wait()
