"""A process of its own for the floor's workflows, as `decide` is one for the real. Run by name, with the server's address."""

from __future__ import annotations

import asyncio
import signal
import sys

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from gpuward.console.bench import floor

CACHE = 2000
"""The same as `decide` keeps."""


async def main(address: str) -> None:
    """Runs until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    worker = Worker(
        await Client.connect(address, data_converter=pydantic_data_converter),
        task_queue=floor.QUEUE,
        workflows=[floor.FloorActor, floor.FloorChild],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_cached_workflows=CACHE,
    )
    async with worker:
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
