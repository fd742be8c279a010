from __future__ import annotations

import pytest_asyncio

from gpuward.local.stack import LocalStack
from gpuward.runtime import settings as settings_of
from gpuward.runtime.kafka import apply_topics


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def settings(tmp_path_factory):
    """Settings of a running stack with every topic."""
    async with LocalStack(tmp_path_factory.mktemp("stack")) as stack:
        found = settings_of.load(stack.data_dir)
        await apply_topics(found)
        yield found
