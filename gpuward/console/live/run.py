"""`gpuward up`: the embedded stack, a simulated world and every process, for as long as somebody watches."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gpuward.console.live.crew import PROCESSES, WORLD, Crew, Say
from gpuward.console.live.demo import write_policy
from gpuward.console.live.readiness import ask
from gpuward.console.policy_record import tell
from gpuward.contracts.errors import Permanent, Transient
from gpuward.local.stack import LocalStack
from gpuward.runtime import policy as policy_of
from gpuward.runtime import settings as settings_of
from gpuward.runtime.kafka import Producer, apply_topics
from gpuward.runtime.settings import Settings

READY_S = 120.0
_LOOK_S = 0.25


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a person asked of `up`."""

    data: Path
    racks: int
    nodes: int
    gpus: int
    demo: bool = False

    @property
    def total_nodes(self) -> int:
        return self.racks * self.nodes

    @property
    def total_gpus(self) -> int:
        return self.total_nodes * self.gpus

    def env(self) -> dict[str, str]:
        """What the children are told besides the data directory."""
        told = {
            "GPUWARD_SIMULATION_RACKS": str(self.racks),
            "GPUWARD_SIMULATION_NODES": str(self.nodes),
            "GPUWARD_SIMULATION_GPUS": str(self.gpus),
        }
        # A person waits for the first fault: two seconds between looks instead of ten.
        return told | ({"GPUWARD_AGENT_TICK_S": "2"} if self.demo else {})


@dataclass(frozen=True)
class Running:
    """A stack with all its processes, ready."""

    settings: Settings
    stack: LocalStack
    crew: Crew
    began: float = field(default_factory=time.time)


@asynccontextmanager
async def running(wanted: Wanted, say: Say) -> AsyncIterator[Running]:
    """Everything runs and is ready inside the block, and has ended after it. Raises Permanent with a sentence when not."""
    wanted.data.mkdir(parents=True, exist_ok=True)
    say("Starting Kafka and Temporal …")
    began = time.monotonic()
    async with LocalStack(wanted.data, say=say) as stack:
        say(
            f"Kafka at {stack.run_file.kafka}, Temporal at {stack.run_file.temporal} ({time.monotonic() - began:.0f} s)."
        )
        say(f"Temporal UI: {stack.temporal_ui}")
        settings, env = _policy(wanted, stack)
        await apply_topics(settings)
        await _tell_policy(settings)
        crew = Crew(stack.data_dir, env, say)
        mending = asyncio.create_task(_mend(stack, say))
        try:
            await _start(crew, stack, say)
            say(f"All {len(PROCESSES) + 1} processes are ready ({time.monotonic() - began:.0f} s).")
            yield Running(settings_of.load(stack.data_dir), stack, crew)
        finally:
            say("Ending …")
            mending.cancel()
            await crew.stop()


def _policy(wanted: Wanted, stack: LocalStack) -> tuple[Settings, Mapping[str, str]]:
    """Settings and environment; the demo brings a policy file of its own, which the other commands find in `run.json`."""
    settings, env = settings_of.load(stack.data_dir), wanted.env()
    if not wanted.demo:
        return settings, env
    path = write_policy(stack.data_dir)
    stack.announce(policy=str(path))
    return settings.model_copy(update={"policy_file": path}), env | {"GPUWARD_POLICY_FILE": str(path)}


async def _tell_policy(settings: Settings) -> None:
    async with Producer(settings, "gpuward-up") as producer:
        await tell(producer, policy_of.load(settings.policy_file), datetime.now(UTC))


async def _start(crew: Crew, stack: LocalStack, say: Say) -> None:
    crew.start(WORLD)
    await _ready(crew, stack.data_dir, [WORLD], say)
    stack.announce(world=(stack.data_dir / "world.url").read_text().strip())
    for name in PROCESSES:
        crew.start(name)
    await _ready(crew, stack.data_dir, PROCESSES, say)


async def _ready(crew: Crew, data: Path, names: Sequence[str], say: Say) -> None:
    waiting = list(names)
    try:
        async with asyncio.timeout(READY_S):
            while waiting:
                states = await ask(data, waiting)
                for state in states:
                    if state.problem is None:
                        say(f"  {state.name} is ready")
                        waiting.remove(state.name)
                dying = next((name for name in waiting if crew.deaths.get(name, 0) > 3), None)  # noqa: PLR2004 - it will not
                if dying is not None:
                    raise Permanent(f"{dying} does not start. The end of its log:\n{crew.last_lines(dying)}")
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        problems = "; ".join(state.problem for state in await ask(data, waiting) if state.problem)
        tail = crew.last_lines(waiting[0])
        raise Permanent(f"After {READY_S:.0f} s: {problems}. The end of {waiting[0]}'s log:\n{tail}") from None


async def _mend(stack: LocalStack, say: Say) -> None:
    """A server that ended by itself is started again on the same data and port."""
    while True:
        say(str(await stack.unexpected_exit()).splitlines()[0])
        for server in (stack.kafka, stack.temporal):
            if server.pid is None:
                with contextlib.suppress(Permanent, Transient):
                    await server.start()
                    say(f"{server.name} is started again at {server.address}.")
