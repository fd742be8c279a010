"""`gpuward doctor`: asks every part and says in one sentence each what is wrong and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Exit
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import records_of, temporal_of
from gpuward.console.live.crew import PROCESSES, WORLD
from gpuward.console.live.readiness import ask
from gpuward.console.world import address
from gpuward.contracts.errors import GpuwardError, Permanent, Transient
from gpuward.contracts.topics import OUTCOMES, TOPICS
from gpuward.runtime.settings import Settings


class Finding(NamedTuple):
    """One part. `ok` False comes with what to do about it."""

    part: str
    ok: bool
    text: str


class _Wrong(Exception):  # noqa: N818 - a finding, not a failure of ours
    pass


@answered
async def doctor(*, options: Options = PLAIN) -> Answer:
    """Check every part and say what is wrong and what to do about it; exit 1 when something is."""
    settings = options.settings()
    findings = [await _look(part, check, settings) for part, check in _CHECKS]
    findings += await _processes(settings)
    sick = [finding for finding in findings if not finding.ok]
    document = {"schema": "gpuward.doctor/1", "ok": not sick, "findings": [finding._asdict() for finding in findings]}
    return Answer(document, _screen(findings), Exit.NO if sick else Exit.OK)


async def _look(part: str, check: Callable[[Settings], Awaitable[str]], settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(20):
            return Finding(part, True, await check(settings))
    except (GpuwardError, _Wrong) as error:
        return Finding(part, False, str(error))
    except TimeoutError:
        return Finding(part, False, f"{part} gave no answer within 20 s: see its log in {settings.data / 'logs'}.")


async def _stack(settings: Settings) -> str:
    from gpuward.local.run_file import RunFile

    if not (settings.data / "run.json").is_file():
        return f"There is no embedded stack in {settings.data}; the addresses come from the settings."
    run = RunFile.load(settings.data)
    return f"The embedded stack in {settings.data} is run by process {run.owner_pid}."


async def _kafka(settings: Settings) -> str:
    from gpuward.runtime.kafka import KafkaError, consumer

    reader = consumer(settings, "gpuward-doctor")
    try:
        await reader.start()
        there = set(await reader.topics())
    except (KafkaError, OSError):
        raise _Wrong(
            f"Kafka cannot be reached at {settings.kafka.bootstrap}: start it with `gpuward up`, or set GPUWARD_KAFKA_BOOTSTRAP."
        ) from None
    finally:
        await reader.stop()
    missing = [name for name in TOPICS if name not in there]
    if missing:
        raise _Wrong(f"Kafka lacks {', '.join(missing)}: make them with `gpuward topics apply`.")
    return f"Kafka answers at {settings.kafka.bootstrap} and has all {len(TOPICS)} topics."


async def _temporal(settings: Settings) -> str:
    client = await temporal_of(settings)
    count = await client.count_workflows("ExecutionStatus = 'Running'")
    return f"Temporal answers at {settings.temporal.address} and holds {count.count} running workflows."


async def _records(settings: Settings) -> str:
    async with records_of(settings) as records:
        entities = await records.entities()
        read = await records.positions(OUTCOMES)
    if not entities:
        raise _Wrong("The records are empty: an agent's inventory fills them; is an agent running?")
    return f"The records hold {len(entities)} entities, folded from {sum(read.values())} outcomes."


async def _world(settings: Settings) -> str:
    from gpuward.simulator.client import WorldClient

    url = address(settings)
    if url is None:
        return "There is no simulated world here."
    try:
        async with WorldClient(url) as world:
            nodes = await world.nodes()
    except (Transient, Permanent) as error:
        raise _Wrong(
            f"The simulated world does not answer at {url}: start it with `gpuward world`. ({error})"
        ) from error
    down = [node["node"] for node in nodes if not node["up"]]
    return f"The simulated world has {len(nodes)} nodes" + (f", down: {', '.join(down)}." if down else ", all up.")


async def _processes(settings: Settings) -> list[Finding]:
    names = [*PROCESSES, *([WORLD] if address(settings) else [])]
    return [
        Finding(state.name, True, f"{state.name} is ready at {state.address}.")
        if state.problem is None
        else Finding(
            state.name,
            False,
            f"{state.problem}: start it with `gpuward {state.name}`, or see {settings.data / 'logs'}.",
        )
        for state in await ask(settings.data, names)
    ]


_CHECKS: tuple[tuple[str, Callable[[Settings], Awaitable[str]]], ...] = (
    ("stack", _stack),
    ("kafka", _kafka),
    ("temporal", _temporal),
    ("records", _records),
    ("world", _world),
)


def _screen(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = Text("✓", style="green") if finding.ok else Text("✗", style="bold red")
        table.add_row(mark, Text(finding.part, style="bold"), Text(finding.text))
    return table
