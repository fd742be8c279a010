from __future__ import annotations

import pytest
import pytest_asyncio

from gpuward.local.stack import LocalStack
from gpuward.runtime.kafka import apply_topics
from gpuward.runtime.settings import KafkaSettings, Settings


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bootstrap(tmp_path_factory):
    """A real Kafka with every topic, for the module."""
    async with LocalStack(tmp_path_factory.mktemp("streams")) as running:
        await apply_topics(Settings(kafka=KafkaSettings(bootstrap=running.kafka.address)))
        yield running.kafka.address


@pytest.fixture(scope="module")
def settings(bootstrap, tmp_path_factory):
    return Settings(
        data=tmp_path_factory.mktemp("worker"), kafka=KafkaSettings(bootstrap=bootstrap), streams_silent_after_s=60
    )
