"""A real Kafka and a real Temporal for as long as an `async with` block lasts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from gpuward.contracts.errors import Permanent
from gpuward.local import kafka, temporal
from gpuward.local.data_lock import DataLock
from gpuward.local.jars import kafka_jars
from gpuward.local.java import find_java
from gpuward.local.liveness import started_at
from gpuward.local.ports import LOOPBACK, choose_ports
from gpuward.local.run_file import RunFile
from gpuward.local.server import Recipe, Server
from gpuward.local.temporal import TemporalOptions


class LocalStack:
    """The embedded stack of one data directory; both servers answer once the block is entered.

    Everything is under `data_dir`: `kafka/`, `temporal/`, `logs/`, `run.json`. A second run goes on with the same data
    and, where they are still free, the same ports. Both servers end with this process, however it ends.
    Entering raises `Permanent` when a piece is missing, a server does not come up, or another stack runs there.
    """

    kafka: Server
    temporal: Server

    def __init__(
        self,
        data_dir: Path,
        *,
        temporal_options: TemporalOptions | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`say` is given a sentence whenever something takes long."""
        self.data_dir = data_dir.absolute()
        self._options = temporal_options or TemporalOptions()
        self._say = say
        self._extra: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        self._running = False  # both answered: from then on `run.json` is kept up to date

    async def __aenter__(self) -> Self:
        self._lock = await DataLock.take(self.data_dir)
        try:
            previous = RunFile.last(self.data_dir)
            self._ports = choose_ports([*kafka.PORTS, *temporal.PORTS], previous.ports if previous else {})
            await self._start()
        except BaseException:
            self._lock.release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._stop()
        finally:
            self._lock.release()

    @property
    def temporal_ui(self) -> str:
        """URL of Temporal's web page."""
        return f"http://{LOOPBACK}:{self._ports['temporal-ui']}"

    @property
    def run_file(self) -> RunFile:
        """What `run.json` says now."""
        pids = {server.name: server.pid for server in self._servers() if server.pid is not None}
        return RunFile(
            kafka=self.kafka.address,
            temporal=self.temporal.address,
            temporal_ui=self.temporal_ui,
            owner_pid=os.getpid(),
            owner_started=started_at(os.getpid()) or 0,
            pids=pids,
            ports=self._ports,
            extra=self._extra,
        )

    def announce(self, **addresses: str) -> None:
        """Add addresses of other processes to `extra` in `run.json`."""
        self._extra |= addresses
        self._rewrite()

    async def unexpected_exit(self) -> Permanent:
        """Waits until a server ends that nobody told to; the error says which, why, and the end of its log."""
        waits = [asyncio.ensure_future(server.unexpected_exit()) for server in self._servers()]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for wait in waits:
                wait.cancel()

    async def _start(self) -> None:
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._start_kafka())
                both.create_task(self._start_temporal())
        except BaseExceptionGroup as failures:
            await self._stop()
            # The first that failed is what a person needs to read; the other was only cancelled on its account.
            raise failures.exceptions[0] from None
        except BaseException:
            await self._stop()
            raise
        self._running = True
        self._rewrite()

    async def _start_kafka(self) -> None:
        java, jars = await asyncio.gather(asyncio.to_thread(find_java), asyncio.to_thread(kafka_jars, say=self._say))
        recipe = await kafka.prepare_kafka(
            self.data_dir / "kafka",
            self._ports,
            java=java,
            jars=jars,
            log=self.data_dir / "logs" / "kafka.log",
            pass_fds=[self._lock.fd],
        )
        self.kafka = self._server(recipe)
        await self.kafka.start()

    async def _start_temporal(self) -> None:
        recipe = temporal.prepare_temporal(
            self.data_dir / "temporal",
            self._ports,
            options=self._options,
            log=self.data_dir / "logs" / "temporal.log",
        )
        self.temporal = self._server(recipe)
        await self.temporal.start()

    def _server(self, recipe: Recipe) -> Server:
        return Server(recipe, pass_fds=[self._lock.fd], changed=self._rewrite)

    def _servers(self) -> list[Server]:
        return [server for name in ("kafka", "temporal") if (server := getattr(self, name, None)) is not None]

    async def _stop(self) -> None:
        self._running = False
        await asyncio.gather(*(server.stop() for server in self._servers()))

    def _rewrite(self) -> None:
        if self._running:
            self.run_file.save(self.data_dir)
