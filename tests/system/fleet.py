"""A whole fleet for the system tests: real Kafka, real Temporal, every process a child, one simulated world."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from gpuward.contracts import topics
from gpuward.contracts.outcomes import Outcome, OutcomeKind
from gpuward.local.children import Child
from gpuward.local.stack import LocalStack
from gpuward.runtime import kafka, policy, settings, temporal
from gpuward.runtime.settings import Settings
from gpuward.simulator.client import WorldClient

PROCESSES = ("world", "agent", "streams", "bridge", "decide", "act", "projector")
LIMITS = {
    "mode": "act",
    "act_within_s": 60,
    "observe_s": 15,
    "evict_deadline_s": 5,
    "remediation_deadline_s": 180,
    "person_deadline_s": 3600,
    "drain_mode": "immediate",
}
BUDGET = {"concurrent": 4, "per_rack": 4, "per_domain": 1, "floor_pct": 0}


class Ledger:
    """Everything on `fleet.outcomes.v1`, and everything on `fleet.faults.v1`, as it comes."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.faults: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()

    async def follow(self, fleet: Settings) -> None:
        import orjson

        consumer = kafka.consumer(fleet, "ledger-reader", topics.OUTCOMES, topics.FAULTS)
        await consumer.start()
        try:
            async for record in consumer:
                with contextlib.suppress(ValueError):  # tests put garbage on every topic
                    if record.topic == topics.OUTCOMES:
                        self.outcomes.append(Outcome.model_validate_json(record.value))
                    else:
                        self.faults.append(orjson.loads(record.value))
                async with self._changed:
                    self._changed.notify_all()
        finally:
            await consumer.stop()

    async def until(self, met: Callable[[list[Outcome]], Any], timeout: float = 60, what: str = "the outcome") -> Any:
        """What `met` returns as soon as it is true of the ledger; TimeoutError says what was missing and what came last."""
        try:
            async with asyncio.timeout(timeout), self._changed:
                while not (answer := met(self.outcomes)):
                    await self._changed.wait()
                return answer
        except TimeoutError:
            last = "\n".join(
                f"  {o.time:%H:%M:%S} {o.entity} {o.what} {o.name} {o.result} {o.text}" for o in self.outcomes[-25:]
            )
            raise TimeoutError(f"{what} did not come within {timeout} s; the last of the ledger:\n{last}") from None

    def of(self, *entities: str, what: OutcomeKind | None = None) -> list[Outcome]:
        return [o for o in self.outcomes if str(o.entity) in entities and (what is None or o.what is what)]

    def edges(self, entity: str) -> list[tuple[str, str]]:
        """The lifecycle edges of one entity, in order of number."""
        return [(str(o.before), str(o.after)) for o in self.of(entity, what=OutcomeKind.EDGE)]


def write_policy(path: Path, racks: Iterable[str], **more: Any) -> Path:
    """The shipped faults, and one pool in act mode per rack: `pool-<rack>`. `more`: rack → fields of its pool."""
    document = policy.load().model_dump(mode="json", exclude={"version"})
    document["pools"] = [
        {
            "name": f"pool-{rack}",
            "select": {"rack": rack},
            "mode": "act",
            "hold_s": 3,
            "budget": BUDGET,
            "limits": LIMITS,
            **more.get(rack, {}),
        }
        for rack in racks
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


class Fleet:
    """Processes by name. Ends everything that it started."""

    def __init__(
        self, data: Path, *, racks: int, nodes: int, gpus: int, pools: dict[str, Any] | None = None, **env: str
    ) -> None:
        self.data = data
        self.racks = [f"r{n:02d}" for n in range(1, racks + 1)]
        policy_file = write_policy(data / "policy.yaml", self.racks, **(pools or {}))
        self.env = {
            **os.environ,
            "GPUWARD_DATA": str(data),
            "GPUWARD_POLICY_FILE": str(policy_file),
            "GPUWARD_SIMULATION_RACKS": str(racks),
            "GPUWARD_SIMULATION_NODES": str(nodes),
            "GPUWARD_SIMULATION_GPUS": str(gpus),
            "GPUWARD_SIMULATION_TIME_SCALE": "400",
            "GPUWARD_AGENT_TICK_S": "0.5",
            "GPUWARD_STREAMS_SILENT_AFTER_S": "12",
            "GPUWARD_SHUTDOWN_GRACE_S": "3",
            **env,
        }
        self.children: dict[str, Child] = {}
        self.ledger = Ledger()
        self.world: WorldClient | None = None
        self._follow: asyncio.Task[None] | None = None
        self._keep: dict[str, asyncio.Task[None]] = {}
        self.restarts: dict[str, int] = {}

    async def __aenter__(self) -> Fleet:
        self.stack = await LocalStack(self.data).__aenter__()
        try:
            self.settings = settings.load(self.data, policy_file=self.data / "policy.yaml")
            await kafka.apply_topics(self.settings)
            self.client = await temporal.connect(self.settings)
            self._follow = asyncio.create_task(self.ledger.follow(self.settings))
            await self.command("policy", "apply")
            self.start("world")
            await self.ready("world")
            self.settings = settings.load(self.data, policy_file=self.data / "policy.yaml")
            self.world = WorldClient(str(self.settings.world))
            for name in PROCESSES[1:]:
                self.start(name)
            for name in PROCESSES[1:]:
                await self.ready(name)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._follow:
            self._follow.cancel()
            await asyncio.gather(self._follow, return_exceptions=True)
        for keep in self._keep.values():
            keep.cancel()
        if self.world:
            await self.world.__aexit__()
        await asyncio.gather(*(child.stop(5) for child in self.children.values()))
        await self.stack.__aexit__(None, None, None)

    def start(self, name: str, **env: str) -> Child:
        """Starts a process anew, with more environment where given, and starts it again whenever it ends by itself."""
        command = [sys.executable, "-m", "gpuward", name, "--data", str(self.data)]
        (self.data / "health" / name).unlink(missing_ok=True)
        child = Child.start(name, command, log=self.data / "logs" / f"{name}.log", env={**self.env, **env})
        self.children[name] = child
        if name in self._keep:
            self._keep[name].cancel()
        self._keep[name] = asyncio.create_task(self._kept(name, child, env))
        return child

    async def _kept(self, name: str, child: Child, env: dict[str, str]) -> None:
        await child.wait()
        await asyncio.sleep(0.5)
        self.restarts[name] = self.restarts.get(name, 0) + 1
        del self._keep[name]
        self.start(name, **env)

    async def stop(self, name: str) -> None:
        """Ends a process gently, and does not start it again."""
        self._keep.pop(name).cancel()
        await self.children[name].stop()

    async def ready(self, name: str, timeout: float = 120) -> None:
        """Waits until the process says that it can do its work; TimeoutError with the end of its log."""
        try:
            async with asyncio.timeout(timeout):
                await self._ready(name)
        except TimeoutError:
            log = (self.data / "logs" / f"{name}.log").read_text()[-3000:]
            raise TimeoutError(f"{name} did not get ready within {timeout} s:\n{log}") from None

    async def _ready(self, name: str) -> None:
        import httpx

        async with httpx.AsyncClient() as http:
            while True:
                with contextlib.suppress(OSError, httpx.HTTPError):
                    url = (self.data / "health" / name).read_text().strip()
                    if (await http.get(f"{url}/readyz")).status_code == 200:
                        return
                await asyncio.sleep(0.1)

    async def kill(self, name: str) -> None:
        """SIGKILL; it is started again."""
        await self.children[name].kill()

    async def command(self, *words: str, check: bool = True) -> tuple[int, str, str]:
        """Runs the command line as a person would; (exit status, stdout, stderr)."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gpuward",
            *words,
            "--data",
            str(self.data),
            env=self.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        code = process.returncode or 0
        assert not check or code == 0, f"gpuward {' '.join(words)}: exit {code}\n{out.decode()}\n{err.decode()}"
        return code, out.decode(), err.decode()

    async def gpu(self, node: str, index: int = 0) -> str:
        """UUID of a GPU by its position."""
        return sorted((gpu.slot, gpu.uuid) for gpu in (await self.world.host(node)).gpus)[index][1]

    async def quiet(self, *workflow_ids: str, still_s: float = 2.0, timeout: float = 60) -> None:
        """Waits until the histories of these workflows have not grown for `still_s` seconds."""
        before: list[int] = []
        async with asyncio.timeout(timeout):
            while True:
                handles = [self.client.get_workflow_handle(workflow_id) for workflow_id in workflow_ids]
                lengths = [(await handle.describe()).history_length for handle in handles]
                if lengths == before:
                    return
                before = lengths
                await asyncio.sleep(still_s)

    def moves(self, pool: str) -> list[tuple[str, str]]:
        """What became of the pool guard's slots, in order."""
        return [
            (str(o.before), str(o.after))
            for o in self.ledger.of(pool, what=OutcomeKind.DECISION)
            if o.before and o.after
        ]

    async def born(self, *entities: str, timeout: float = 60) -> None:
        """Waits until each of these has its first ledger record."""
        await self.ledger.until(
            lambda outcomes: set(entities) <= {str(o.entity) for o in outcomes}, timeout, f"the birth of {entities}"
        )
