from __future__ import annotations

import pytest_asyncio

from gpuward.local.stack import LocalStack
from gpuward.local.temporal import TemporalOptions
from gpuward.runtime.kafka import apply_topics
from gpuward.runtime.settings import KafkaSettings, Settings
from tests.component.bridge.driving import Drive


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tmp_path_factory):
    """A real Kafka and a real Temporal for the module; a run takes 60 signals."""
    options = TemporalOptions(dynamic_config={"history.maximumSignalsPerExecution": 60})
    async with LocalStack(tmp_path_factory.mktemp("bridge"), temporal_options=options) as running:
        await apply_topics(Settings(kafka=KafkaSettings(bootstrap=running.kafka.address)))
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def drive(servers, tmp_path):
    async with Drive(servers, tmp_path) as driving:
        yield driving
