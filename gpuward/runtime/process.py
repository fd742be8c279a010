"""How a process runs: signals, health endpoint, graceful shutdown. SIGTERM drains, commits and leaves."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from gpuward.runtime import logging
from gpuward.runtime.health import Health, serve
from gpuward.runtime.settings import Settings

Body = Callable[[Settings, Health, asyncio.Event], Awaitable[None]]
"""Runs until the event is set, then drains and returns."""


def run(name: str, settings: Settings, body: Body) -> int:
    """Runs `body` until it returns or SIGTERM or SIGINT asks it to stop; exit status 0, or 1 when it crashed."""
    logging.configure(settings, name)
    log = logging.get("process")

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        async with serve(Health(), settings) as health:
            announce(settings, name, health.port)
            log.info("started", health=f"http://{settings.health_host}:{health.port}/healthz")
            await body(settings, health, stop)
        log.info("stopped")

    try:
        asyncio.run(main())
    except Exception:
        log.exception("crashed")
        return 1
    return 0


def announce(settings: Settings, name: str, port: int) -> None:
    """Writes the health address to `<data>/health/<name>`, where the command line finds it."""
    folder = settings.data / "health"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"http://{settings.health_host}:{port}\n")
