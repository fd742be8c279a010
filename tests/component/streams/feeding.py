"""Feeds a real Kafka with batches, runs the worker as a process, and waits for what it tells."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Self

from gpuward.contracts.envelope import Envelope
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import NodeId
from gpuward.contracts.observations import BATCH_TYPE, ObservationBatch
from gpuward.contracts.topics import FAULTS, OBSERVATIONS
from gpuward.runtime.kafka import Producer, consumer
from gpuward.runtime.settings import Settings

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


async def send(producer: Producer, batch: ObservationBatch, *, partition: int | None = None) -> tuple[int, int]:
    envelope = Envelope(id=f"{batch.node}:{batch.boot_id}:{batch.seq}", type=BATCH_TYPE, source="test", time=batch.time)
    return await producer.send(
        OBSERVATIONS,
        key=batch.node.encode(),
        value=batch.to_json(),
        headers=envelope.to_headers(),
        partition=partition,
    )


class Worker:
    """The process, its log, and its restarts."""

    def __init__(self, settings: Settings, log: Path, **environment: str) -> None:
        self.settings, self.log = settings, log
        self._environment = environment
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        data = self.settings.data
        data.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "GPUWARD_KAFKA_BOOTSTRAP": self.settings.kafka.bootstrap,
            "GPUWARD_STREAMS_SILENT_AFTER_S": str(self.settings.streams_silent_after_s),
            **self._environment,
        }
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(HERE / "run_worker.py"),
                str(data),
                cwd=ROOT,
                env=environment | {"PYTHONPATH": str(ROOT)},
                stderr=log,
            )

    async def kill(self) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process is not None and self.process.returncode is None:
            await self.kill()


class Told:
    """Everything on one topic from its beginning, as it comes."""

    def __init__(self, settings: Settings, topic: str = FAULTS) -> None:
        self._consumer = consumer(settings, "told", topic)
        self.records: list = []
        self._faults: list[Fault] = []

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def until(self, enough: Callable[[Told], bool], *, within_s: float = 60) -> None:
        """Reads on until `enough`; raises TimeoutError with the number of records when it never is."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within_s
        while not enough(self):
            left = end - loop.time()
            if left <= 0:
                raise TimeoutError(f"{len(self.records)} records, and still not enough after {within_s} s")
            found = await self._consumer.getmany(timeout_ms=min(500, int(left * 1000) + 1))
            self.records += [record for records in found.values() for record in records]

    def faults(self) -> list[Fault]:
        """Every record so far as a fault; each is read once."""
        self._faults += [Fault.model_validate_json(record.value) for record in self.records[len(self._faults) :]]
        return self._faults

    def of(self, node: str) -> list[Fault]:
        return [fault for fault in self.faults() if fault.seat.node == NodeId(node)]


@contextlib.asynccontextmanager
async def producing(settings: Settings) -> AsyncIterator[Producer]:
    async with Producer(settings, "feeding") as producer:
        yield producer
