import pytest_asyncio

from gpuward.local.stack import LocalStack
from gpuward.local.temporal import TemporalOptions


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory):
    """One running stack for a module; whoever ends a server brings it back."""
    options = TemporalOptions(
        dynamic_config={"history.maximumSignalsPerExecution": 3}, search_attributes={"Pool": "Keyword"}
    )
    async with LocalStack(tmp_path_factory.mktemp("stack"), temporal_options=options) as running:
        yield running
