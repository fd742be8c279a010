"""The bridge: Kafka records to Temporal actors."""

from __future__ import annotations

import asyncio

from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Producer
from gpuward.runtime.settings import Settings
from streams.bridge import worker
from streams.dead_letters import DeadLetters


async def body(settings: Settings, health: Health, stop: asyncio.Event) -> None:
    """Runs until `stop`, then drains, commits and leaves the group."""
    await worker.body(settings, health, stop, letters=_letters)


def _letters(producer: Producer) -> DeadLetters:
    return DeadLetters(producer, by="streams.bridge")
