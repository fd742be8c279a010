import contextlib
import shutil
import sys
import uuid
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tests.component.workflows.peers import Kit


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def temporal():
    """The real server, in memory, once for all."""
    beside = Path(sys.executable).with_name("temporal")
    binary = str(beside) if beside.exists() else shutil.which("temporal")
    async with await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter, dev_server_existing_path=binary, dev_server_log_level="never"
    ) as environment:
        yield environment


async def end_all(client):
    """What a test leaves running is ended, so that no later worker meets it."""
    async for left in client.list_workflows("ExecutionStatus='Running'"):
        with contextlib.suppress(RPCError):
            await client.get_workflow_handle(left.id).terminate()


@pytest_asyncio.fixture(loop_scope="session")
async def kit(temporal):
    """Doubles and workers of one test, around echo actors."""
    kit = Kit(temporal.client)
    yield kit
    await end_all(kit.client)


@pytest_asyncio.fixture(loop_scope="session")
async def real(temporal):
    """Doubles and workers of one test, around the real actors and guards."""
    kit = Kit(temporal.client, echo=False)
    yield kit
    await end_all(kit.client)


@pytest.fixture
def name():
    """Part of every entity's name in one test."""
    return uuid.uuid4().hex[:8]
