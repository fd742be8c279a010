"""`gpuward up`: everything in one command, and the demo."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Exit
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.live.drama import Drama
from gpuward.console.live.feed import Feed
from gpuward.console.live.run import Running, Wanted, running
from gpuward.console.live.watch import Watch
from gpuward.contracts.errors import GpuwardError
from gpuward.runtime.records import Records

_AGAIN = "Ctrl-C ends everything; the data stays."


@dataclass
class Voice:
    """Where the sentences of `up` go: straight out while it starts, through the watch once there is one."""

    console: Console
    watch: Watch | None = None

    def __call__(self, text: str) -> None:
        if self.watch is not None:
            self.watch.say(text)
        else:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


@answered
async def up(
    *,
    racks: Annotated[int, Parameter(help="Racks of the simulated world.")] = 2,
    nodes: Annotated[int | None, Parameter(help="Nodes in each rack: 4 unless said, 2 in the demo.")] = None,
    gpus: Annotated[int, Parameter(help="GPUs in each node.")] = 8,
    headless: Annotated[bool, Parameter(negative=(), help="Lines instead of a picture, also in a terminal.")] = False,
    demo: Annotated[
        bool, Parameter(negative=(), help="A pool in act mode and a first fault; without a terminal it ends by itself.")
    ] = False,
    options: Options = PLAIN,
) -> Answer:
    """Run everything here: Kafka, Temporal, a simulated world and all processes, and show the fleet."""
    data = options.settings().data.absolute()
    wanted = Wanted(data=data, racks=racks, nodes=nodes or (2 if demo else 4), gpus=gpus, demo=demo)
    console = Console(force_terminal=False if headless else None, stderr=options.json)
    voice, stop = Voice(console), asyncio.Event()
    whole = asyncio.ensure_future(_whole(wanted, voice, stop))

    def interrupt() -> None:
        if voice.watch is None or stop.is_set():  # still starting, or asked a second time
            whole.cancel()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    try:
        return await whole
    except asyncio.CancelledError:
        return Answer({"schema": "gpuward.up/1", "interrupted": True}, None, Exit.INTERRUPTED)


async def _whole(wanted: Wanted, voice: Voice, stop: asyncio.Event) -> Answer:
    began = time.monotonic()
    async with running(wanted, voice) as fleet:
        records = Records(fleet.settings.records)
        watch = Watch(Feed(records, int(fleet.began * 1000)), voice.console, advice=_advice(wanted, fleet))
        voice.watch = watch
        try:
            return await (_demo if wanted.demo else _plain)(wanted, fleet, watch, stop, began)
        finally:
            voice.watch = None
            records.close()


async def _plain(wanted: Wanted, fleet: Running, watch: Watch, stop: asyncio.Event, began: float) -> Answer:
    for hint in watch.advice if not watch.console.is_terminal else ():
        watch.say(hint)
    await watch.until(stop)
    return Answer(_document(wanted, fleet, began))


async def _demo(wanted: Wanted, fleet: Running, watch: Watch, stop: asyncio.Event, began: float) -> Answer:
    drama = Drama(wanted, fleet, watch)
    playing = asyncio.create_task(drama.perform(watch.feed))

    def done(feed: Feed) -> str | None:
        if playing.done() and (error := playing.exception()) is not None:
            raise error
        verdict = drama.judge(feed)
        return None if watch.console.is_terminal else verdict

    try:
        await watch.until(stop, done)
    finally:
        playing.cancel()
        with contextlib.suppress(asyncio.CancelledError, GpuwardError):
            await playing
    await drama.count()
    counted = ", ".join(f"{number} {act}" for act, number in sorted(drama.acts.items())) or "nothing"
    watch.say(f"The world counted {counted}. Temporal UI while it runs: {fleet.stack.temporal_ui}")
    document = _document(wanted, fleet, began) | {"gpu": drama.gpu, "verdict": drama.verdict, "acts": drama.acts}
    if drama.verdict is None:
        return Answer(document, "Interrupted before the repair was verified.", Exit.INTERRUPTED)
    closing = (
        "The repair was verified." if drama.verdict == "repaired" else f"The repair was not verified: {drama.verdict}."
    )
    return Answer(document, closing, Exit.OK if drama.verdict == "repaired" else Exit.NO)


def _document(wanted: Wanted, fleet: Running, began: float) -> dict[str, Any]:
    return {
        "schema": "gpuward.up/1",
        "data": str(wanted.data),
        "temporal_ui": fleet.stack.temporal_ui,
        "racks": wanted.racks,
        "nodes": wanted.total_nodes,
        "gpus": wanted.total_gpus,
        "seconds": round(time.monotonic() - began, 1),
        "restarts": fleet.crew.deaths,
    }


def _advice(wanted: Wanted, fleet: Running) -> list[str]:
    hints = [f"Temporal UI: {fleet.stack.temporal_ui}"]
    elsewhere = f"Try next, in another terminal with GPUWARD_DATA={wanted.data}: gpuward inject xid 48 --node r01-n01"
    if wanted.demo:
        hints.append(f"{elsewhere}, then gpuward why r01-n01")
    else:
        hints.append(f"{elsewhere}, then gpuward fleet. The shipped policy only watches; `gpuward up --demo` repairs.")
    return [*hints, _AGAIN]
