"""Drives a real bridge process against a real Kafka and a real Temporal."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from pathlib import Path
from typing import Self

import httpx
import orjson
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from gpuward.contracts.actors import DECIDE_QUEUE
from gpuward.contracts.identity import Entity
from gpuward.contracts.topics import FAULTS, TOPICS
from gpuward.local.stack import LocalStack
from gpuward.runtime.kafka import Outgoing, Producer, TopicPartition, consumer
from gpuward.runtime.settings import KafkaSettings, Settings, TemporalSettings
from gpuward.runtime.temporal import connect
from tests.component.bridge.recording import NodeActor, RackActor

ROOT = Path(__file__).parents[3]
_names = itertools.count()


def fresh(kind: str = "node") -> Entity:
    """An entity that no other test has."""
    return Entity(f"{kind}/{kind}-{os.getpid()}-{next(_names)}")


def fault(entity: str, n: int, *, padding: int = 0, rack: str | None = None) -> bytes:
    return orjson.dumps(
        {
            "kind": "fault",
            "phase": "raised",
            "fault_id": str(n),
            "revision": [1, 2, n, 0],
            "entity": entity,
            "seat": {"node": "n", "rack": rack},
            "fault_class": "node.silent",
            "verdict": {"severity": "critical"},
            "first_seen": "2026-01-01T00:00:00Z",
            "last_seen": "2026-01-01T00:00:00Z",
            "padding": "x" * padding,
        }
    )


class BridgeProcess:
    """One bridge as a child process; `log` is all it has said."""

    def __init__(self, child: asyncio.subprocess.Process, data: Path) -> None:
        self._child = child
        self._data = data

    @property
    def log(self) -> str:
        return (self._data / "bridge.log").read_text()

    async def ready(self, seconds: float = 30) -> None:
        async with asyncio.timeout(seconds):
            while not await self.answers("readyz"):
                assert self._child.returncode is None, self.log
                await asyncio.sleep(0.1)

    async def answers(self, page: str) -> bool:
        with contextlib.suppress(OSError, httpx.HTTPError):
            address = (self._data / "health" / "bridge").read_text().strip()
            async with httpx.AsyncClient(trust_env=False) as http:
                return (await http.get(f"{address}/{page}")).is_success
        return False

    async def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        address = (self._data / "health" / "bridge").read_text().strip()
        async with httpx.AsyncClient(trust_env=False) as http:
            text = (await http.get(f"{address}/metrics")).text
        lines = [line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    async def shows(self, name: str, least: float, seconds: float = 20) -> None:
        """Waits until the metric has reached `least`."""
        async with asyncio.timeout(seconds):
            while await self.metric(name) < least:
                await asyncio.sleep(0.1)

    async def ended(self, seconds: float = 30) -> int:
        async with asyncio.timeout(seconds):
            return await self._child.wait()

    async def stop(self) -> int:
        if self._child.returncode is None:
            self._child.terminate()
        return await self.ended()

    async def kill(self) -> None:
        if self._child.returncode is None:
            self._child.kill()
        await self._child.wait()


class Drive:
    """What a test needs: the servers, a producer, a client, and bridges that end with the test."""

    def __init__(self, stack: LocalStack, folder: Path) -> None:
        self.stack = stack
        self.folder = folder
        self.settings = Settings(
            data=folder,
            kafka=KafkaSettings(bootstrap=stack.kafka.address),
            temporal=TemporalSettings(address=stack.temporal.address),
        )
        self.producer = Producer(self.settings, "test")
        self.client: Client
        self._bridges: list[BridgeProcess] = []
        self._workers: list[Worker] = []

    async def __aenter__(self) -> Self:
        self.client = await connect(self.settings)
        await self.producer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(bridge.stop() for bridge in self._bridges))
        await self.producer.stop()

    async def bridge(self, *, ready: bool = True, **environment: str) -> BridgeProcess:
        data = self.folder / f"bridge-{len(self._bridges)}"
        data.mkdir()
        wanted = {
            "GPUWARD_DATA": str(data),
            "GPUWARD_KAFKA_BOOTSTRAP": self.stack.kafka.address,
            "GPUWARD_KAFKA_SESSION_TIMEOUT_MS": "6000",
            "GPUWARD_TEMPORAL_ADDRESS": self.stack.temporal.address,
            **environment,
        }
        with (data / "bridge.log").open("wb") as log:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.component.bridge.running_bridge",
                cwd=ROOT, env={**os.environ, **wanted}, stdout=log, stderr=log,
            )  # fmt: skip
        bridge = BridgeProcess(child, data)
        self._bridges.append(bridge)
        if ready:
            await bridge.ready()
        return bridge

    @contextlib.asynccontextmanager
    async def worker(self):
        """Plays the actors for as long as the block lasts."""
        async with Worker(
            self.client,
            task_queue=DECIDE_QUEUE,
            workflows=[NodeActor, RackActor],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ):
            yield

    async def publish(self, *records: tuple[Entity, int], padding: int = 0, rack: str | None = None) -> None:
        """Faults, each of an entity and with a number, in this order."""
        await self.producer.send_all(
            [Outgoing(FAULTS, key.encode(), fault(key, n, padding=padding, rack=rack)) for key, n in records]
        )

    async def seen(self, entity: Entity) -> list[int]:
        """The numbers that its actor was told, in order; empty where there is no actor."""
        try:
            told: list[int] = await self.client.get_workflow_handle(str(entity)).query("seen")
        except RPCError:
            return []
        return told

    async def sees(self, entity: Entity, count: int, seconds: float = 30) -> list[int]:
        """Waits until the actor was told `count` different numbers; what it was told."""
        told: list[int] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(set(told := await self.seen(entity))) < count:
                    await asyncio.sleep(0.1)
        return told

    async def records(self, topic: str, key: bytes) -> list:
        """Everything in a topic under this key, in order."""
        reader = consumer(self.settings, "test-reader")
        await reader.start()
        try:
            partitions = _partitions(topic)
            reader.assign(partitions)
            ends = await reader.end_offsets(partitions)
            await reader.seek_to_beginning(*partitions)
            found = []
            for where, end in ends.items():
                while await reader.position(where) < end:
                    found += (await reader.getmany(where, timeout_ms=200)).get(where, [])
            return [record for record in found if record.key == key]
        finally:
            await reader.stop()


def _partitions(topic: str) -> list:
    return [TopicPartition(topic, number) for number in range(TOPICS[topic].partitions)]


def once(told: list[int]) -> list[int]:
    """Without the repetitions: each number where it came first."""
    return list(dict.fromkeys(told))
