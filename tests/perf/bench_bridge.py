"""The bridge against a bare client that sends the same signals, and what coalescing brings. Prints JSON.

`python -m tests.perf.bench_bridge [entities] [rounds]`. Both servers are real and fresh; no worker runs, so the server's
work is that of taking signals in. `ratio` must reach 0.9, `coalescing` 10 (DESIGN §11).
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import tempfile
import time
from pathlib import Path

import orjson

from gpuward.contracts.identity import Entity
from gpuward.contracts.topics import FAULTS
from gpuward.local.stack import LocalStack
from gpuward.runtime import metrics
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Outgoing, Producer, apply_topics
from gpuward.runtime.settings import KafkaSettings, Settings, TemporalSettings
from gpuward.runtime.temporal import connect
from streams.bridge import tenure
from streams.bridge.backlog import Backlog
from streams.bridge.lanes import Lanes
from streams.bridge.send import Courier
from streams.bridge.worker import body
from tests.component.bridge.driving import fault

CONCURRENCY = 64


async def bare(settings: Settings, entities: list[Entity], rounds: int) -> tuple[float, float]:
    """Signals a second of a client that does nothing else, and its CPU in ms for each: `CONCURRENCY` at a time, one per entity at a time."""
    courier = Courier(await connect(settings), Backlog(None, signal_limit=10**9, bytes_limit=10**9))  # type: ignore[arg-type]
    queue = list(entities)

    async def one() -> None:
        while queue:
            entity = queue.pop()
            for n in range(rounds):
                await courier._signal(entity, [orjson.loads(fault(entity, n))])

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(CONCURRENCY)))
    sent = len(entities) * rounds
    return sent / (time.perf_counter() - begun), (time.process_time() - cpu) / sent * 1000


async def bridged(settings: Settings, entities: list[Entity], rounds: int) -> tuple[float, float, float]:
    """Records and signals a second and CPU in ms of a record, from the first acknowledged record to the last; all lie in Kafka beforehand."""
    async with Producer(settings, "bench") as producer:
        for n in range(rounds):
            await producer.send_all([Outgoing(FAULTS, key.encode(), fault(key, n)) for key in entities])
    records = metrics.counter("gpuward_bridge_records_total").labels(topic=FAULTS)
    signals = metrics.counter("gpuward_bridge_signals_total").labels(kind="node")
    before, signals_before, wanted = records._value.get(), signals._value.get(), len(entities) * rounds
    stop, begun, cpu = asyncio.Event(), 0.0, 0.0
    running = asyncio.create_task(body(settings, Health(), stop))
    while (done := records._value.get() - before) < wanted:
        if done and not begun:
            begun, cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(0.02)
    used = (time.process_time() - cpu) / wanted * 1000
    took = time.perf_counter() - begun
    stop.set()
    await running
    return wanted / took, (signals._value.get() - signals_before) / took, used


async def main(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with LocalStack(Path(folder)) as stack:
            settings = Settings(
                data=Path(folder),
                kafka=KafkaSettings(bootstrap=stack.kafka.address),
                temporal=TemporalSettings(address=stack.temporal.address),
            )
            await apply_topics(settings)
            entities = [Entity.node(f"bench-{n}") for n in range(count)]
            await bare(settings, entities, 1)  # they exist from here on
            tenure.Lanes = functools.partial(Lanes, max_records=1)  # type: ignore[misc, assignment]
            floors, bridges = [], []
            for _ in range(2):
                floors.append(await bare(settings, entities, rounds))
                bridges.append((await bridged(settings, entities, rounds))[1:])
            tenure.Lanes = Lanes  # type: ignore[misc]
            together, signals, cpu = await bridged(settings, entities, rounds * 20)
    (floor, floor_cpu), (bridge, bridge_cpu) = max(floors), max(bridges)
    print(  # noqa: T201 - it is what a benchmark is for
        json.dumps(
            {
                "bare_signals_per_s": round(floor),
                "bridge_signals_per_s": round(bridge),
                "ratio": round(bridge / floor, 2),
                "bare_cpu_ms_per_signal": round(floor_cpu, 3),
                "bridge_cpu_ms_per_signal": round(bridge_cpu, 3),
                "coalesced_cpu_ms_per_record": round(cpu, 3),
                "coalesced_records_per_s": round(together),
                "coalesced_signals_per_s": round(signals),
                "coalescing": round(together / floor, 1),
            }
        )
    )


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(main(*(arguments or [300, 5])))
