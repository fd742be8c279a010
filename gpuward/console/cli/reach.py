"""How a command reaches the stack: records, Kafka, Temporal, the world. What does not answer becomes one sentence."""

from __future__ import annotations

import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gpuward.console.cli.exits import Unreachable
from gpuward.contracts.errors import Permanent, Transient

if TYPE_CHECKING:
    from temporalio.client import Client

    from gpuward.runtime.kafka import Producer
    from gpuward.runtime.records import Records
    from gpuward.runtime.settings import Settings


def person() -> str:
    """Who asks: `GPUWARD_PERSON` where it is set, else the login name."""
    try:
        return os.environ.get("GPUWARD_PERSON") or getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def advice(settings: Settings) -> str:
    """What to do when nothing answers: start the stack of this data directory, or say another."""
    from gpuward.local.run_file import RunFile

    try:
        RunFile.load(settings.data)
    except Permanent as error:
        return str(error)
    return "See what is wrong with `gpuward doctor`."


@asynccontextmanager
async def records_of(settings: Settings) -> AsyncIterator[Records]:
    """The records, to read. Raises Unreachable where there are none yet."""
    from gpuward.runtime.records import Records

    if settings.records_url is None and not (settings.data / "records.sqlite").is_file():
        raise Unreachable(f"There are no records in {settings.data}. {advice(settings)}")
    records = Records(settings.records)
    try:
        yield records
    except Transient as error:
        raise Unreachable(f"{error} {advice(settings)}") from error
    finally:
        records.close()


@asynccontextmanager
async def producer_of(settings: Settings) -> AsyncIterator[Producer]:
    """A producer. Raises Unreachable when no broker answers."""
    from gpuward.runtime.kafka import Producer

    producer = Producer(settings, "gpuward-console")
    try:
        await producer.start()
    except Transient as error:
        await producer.stop()
        raise Unreachable(f"Kafka cannot be reached at {settings.kafka.bootstrap}. {advice(settings)}") from error
    try:
        yield producer
    finally:
        await producer.stop()


async def temporal_of(settings: Settings) -> Client:
    """A Temporal client. Raises Unreachable when the server does not answer."""
    from gpuward.runtime.temporal import connect

    try:
        return await connect(settings)
    except (RuntimeError, OSError) as error:
        raise Unreachable(f"Temporal cannot be reached at {settings.temporal.address}. {advice(settings)}") from error


async def reading(settings: Settings, topic: str) -> AsyncIterator[Any]:
    """Every record that `topic` holds now, partition by partition. Raises Unreachable when no broker answers."""
    from gpuward.runtime.kafka import KafkaError, consumer

    reader = consumer(settings, "gpuward-console", topic)
    try:
        await reader.start()
        ends = await reader.end_offsets(sorted(reader.assignment()))
        while await _short_of(reader, ends):
            for records in (await reader.getmany(timeout_ms=1000)).values():
                for record in records:
                    yield record
    except KafkaError as error:
        raise Unreachable(
            f"{topic} cannot be read at {settings.kafka.bootstrap}: {error} {advice(settings)}"
        ) from error
    finally:
        await reader.stop()


async def _short_of(reader: Any, ends: dict[Any, int]) -> bool:
    return any([await reader.position(place) < end for place, end in ends.items()])
