"""The one place that makes Temporal clients."""

from __future__ import annotations

import asyncio

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import TLSConfig

from gpuward.runtime import logging
from gpuward.runtime.settings import Settings


async def connect(settings: Settings) -> Client:
    """A client with the pydantic converter. Raises RuntimeError when the server cannot be reached."""
    temporal = settings.temporal
    tls: bool | TLSConfig = temporal.tls
    if temporal.certificate_file and temporal.key_file:
        tls = TLSConfig(
            client_cert=temporal.certificate_file.read_bytes(), client_private_key=temporal.key_file.read_bytes()
        )
    return await Client.connect(
        temporal.address,
        namespace=temporal.namespace,
        data_converter=pydantic_data_converter,
        tls=tls,
        api_key=temporal.api_key_file.read_text().strip() if temporal.api_key_file else None,
    )


async def connect_patiently(settings: Settings, stop: asyncio.Event) -> Client | None:
    """Tries until the server answers (doubling from 0.25 s to 5 s) or `stop` is set (None)."""
    log = logging.get("temporal")
    pause = 0.25
    while not stop.is_set():
        try:
            return await connect(settings)
        except RuntimeError as error:
            log.warning("Temporal cannot be reached yet", address=settings.temporal.address, error=str(error))
        try:
            await asyncio.wait_for(stop.wait(), pause)
        except TimeoutError:
            pause = min(pause * 2, 5.0)
    return None
