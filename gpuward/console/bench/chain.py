"""Fault → first activity of its remediation, beside an empty chain with the same hops and messages on the same server."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from temporalio.client import Client

from gpuward.console.bench import figures
from gpuward.console.bench.counted import Counted, count_one
from gpuward.console.bench.fleet import Fleet, Place
from gpuward.console.bench.hands import Hands
from gpuward.console.bench.hops import Hop, hops, letters
from gpuward.console.bench.sides import Floor, Real, Side
from gpuward.console.bench.turns import PER_TURN, through
from gpuward.console.live.readiness import ask
from gpuward.contracts.errors import Permanent
from gpuward.local.children import Child
from gpuward.local.stack import LocalStack
from gpuward.runtime.kafka import Producer, apply_topics
from gpuward.runtime.settings import Settings
from gpuward.runtime.temporal import connect

RACKS, NODES, GPUS = 4, 6, 4
ALONE = 3
"""Chains whose tasks are counted, one at a time."""
READY_S = 60.0
STEPS = ("gpu", "node", "rack", "pool", "node again", "child", "activity")

Say = Callable[[str], None]


class Measured(NamedTuple):
    """Of one side: milliseconds of every chain, the hops of each, and what one alone costs."""

    ms: list[float]
    paths: list[list[Hop]]
    alone: list[Counted]


async def measure(faults: int, rate: float, say: Say) -> tuple[Measured, Measured, list[float]]:
    """The real side and the floor, and the machine's load before and after. Raises Permanent or Transient with a sentence."""
    with tempfile.TemporaryDirectory(prefix="gpuward-bench-") as folder:
        say("Starting Kafka and Temporal …")
        async with LocalStack(Path(folder), say=say) as stack, AsyncExitStack() as running:
            settings = _settings(stack)
            await apply_topics(settings)
            client = await connect(settings)
            producer = await running.enter_async_context(Producer(settings, "gpuward-bench"))
            hands = Hands(client, producer)
            await running.enter_async_context(hands.working())
            await running.enter_async_context(_workers(stack))
            return await _Run(client, hands, _fleet(faults), say).whole(faults, rate)


class _Run:
    def __init__(self, client: Client, hands: Hands, fleet: Fleet, say: Say) -> None:
        self._client = client
        self._hands = hands
        self._fleet = fleet
        self._say = say
        self._places = iter(fleet.places())
        self._number = 0

    async def whole(self, faults: int, rate: float) -> tuple[Measured, Measured, list[float]]:
        real = Real(self._client, self._fleet)
        self._say(f"Starting {len(self._fleet.places())} GPU actors, their nodes, racks and pools …")
        await real.born()
        await self._hands.until_quiet(3.0)
        for _ in range(2):  # the second finds everything loaded that the first had to load
            (first,) = places = self._take(1)
            await through(real, self._hands, places, rate, self._number)
        said = letters(await real.histories(first), real.mark(first), real.first)
        empty = Floor(self._client, self._fleet, said)
        await empty.born()
        for _ in range(2):
            await through(empty, self._hands, self._take(1), rate, self._number)
        sides: tuple[Side, Side] = (real, empty)
        alone = [await self._alone(side) for side in sides]
        ms, load = await self._turns(sides, faults, rate)
        self._say("Reading the histories …")
        paths = [await self._paths(side, took) for side, took in zip(sides, ms, strict=True)]
        measured = [Measured(list(ms[i].values()), paths[i], alone[i]) for i in (0, 1)]
        return measured[0], measured[1], load

    async def _alone(self, side: Side) -> list[Counted]:
        return [await count_one(side, self._hands, self._take(1)[0], self._number) for _ in range(ALONE)]

    async def _turns(
        self, sides: tuple[Side, Side], faults: int, rate: float
    ) -> tuple[tuple[dict[Place, float], dict[Place, float]], list[float]]:
        took: tuple[dict[Place, float], dict[Place, float]] = ({}, {})
        load = [figures.load()]
        for turn, done in enumerate(range(0, faults, PER_TURN)):
            places = self._take(min(PER_TURN, faults - done))
            # Who comes first changes, so that neither always follows the other.
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                took[side].update(await through(sides[side], self._hands, places, rate, self._number))
            self._say(
                f"{done + len(places)} of {faults}: {median(took[0].values()):.0f} ms beside {median(took[1].values()):.0f} ms"
            )
        return took, [*load, figures.load()]

    async def _paths(self, side: Side, places: dict[Place, float]) -> list[list[Hop]]:
        return [hops(await side.histories(place), side.mark(place), side.first) for place in places]

    def _take(self, many: int) -> list[Place]:
        self._number += many
        return [next(self._places) for _ in range(many)]


def document(real: Measured, empty: Measured, load: list[float], rate: float) -> dict[str, Any]:
    """The figures as they are printed. Milliseconds; tasks as the most of all chains."""
    middle, floor_middle = median(real.ms), median(empty.ms)
    return {
        "schema": "gpuward.bench.chain/1",
        "p50_ms": round(middle, 1),
        "p99_ms": round(figures.percentile(real.ms, 0.99), 1),
        "floor_p50_ms": round(floor_middle, 1),
        "floor_p99_ms": round(figures.percentile(empty.ms, 0.99), 1),
        "ratio": round(middle / floor_middle, 3),
        "faults": len(real.ms),
        "rate": rate,
        "tasks": _tasks(real),
        "floor_tasks": _tasks(empty),
        "hops": [
            {"hop": name, "p50_ms": _hop_ms(real.paths, i), "floor_p50_ms": _hop_ms(empty.paths, i)}
            for i, name in enumerate(STEPS[:-1])
        ],
        "cpus": os.cpu_count(),
        "load": load,
    }


def _tasks(side: Measured) -> dict[str, Any]:
    return {
        "in_sequence": max(counted.in_sequence for counted in side.alone),
        "in_sequence_under_load": max(sum(hop.tasks for hop in path) for path in side.paths),
        "to_first_activity": max(counted.to_first_activity.other for counted in side.alone),
        "until_quiet": max(counted.until_quiet.other for counted in side.alone),
        "whole": max(counted.whole.other for counted in side.alone),
        "ledger": max(counted.whole.ledger for counted in side.alone),
        "by_actor": side.alone[0].by_actor,
    }


def _hop_ms(paths: list[list[Hop]], i: int) -> float:
    """From a message's being taken in to the next one's."""
    return round(median((path[i + 1].at - path[i].at) / 1e6 for path in paths), 1)


def _fleet(faults: int) -> Fleet:
    """Large enough for each fault to have a GPU of its own."""
    nodes = -(-(faults + 2 * (ALONE + 2)) // (RACKS * GPUS))
    return Fleet(RACKS, max(NODES, nodes), GPUS)


def _settings(stack: LocalStack) -> Settings:
    """Of this stack and nothing else, whatever the environment says."""
    settings = Settings(data=stack.data_dir)
    kafka = settings.kafka.model_copy(update={"bootstrap": stack.run_file.kafka})
    temporal = settings.temporal.model_copy(update={"address": stack.run_file.temporal})
    return settings.model_copy(update={"kafka": kafka, "temporal": temporal})


@asynccontextmanager
async def _workers(stack: LocalStack) -> AsyncIterator[None]:
    """`gpuward decide`, and the floor's worker: a process each."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GPUWARD_")}
    data, address = str(stack.data_dir), stack.run_file.temporal
    commands = {
        "decide": [sys.executable, "-m", "gpuward", "decide", "--data", data],
        "floor": [sys.executable, "-m", "gpuward.console.bench.floor_worker", address],
    }
    logs = stack.data_dir / "logs"
    children = [Child.start(name, line, log=logs / f"{name}.log", env=env) for name, line in commands.items()]
    try:
        await _ready(stack.data_dir, children[0])
        yield
    finally:
        await asyncio.gather(*(child.stop() for child in children))


async def _ready(data: Path, decide: Child) -> None:
    try:
        async with asyncio.timeout(READY_S):
            while (await ask(data, ["decide"]))[0].problem is not None:
                if not decide.running:
                    raise Permanent(f"decide has ended. The end of its log:\n{decide.last_lines()}")
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise Permanent(
            f"decide was not ready in {READY_S:.0f} s. The end of its log:\n{decide.last_lines()}"
        ) from None
