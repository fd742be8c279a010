"""`/healthz`, `/readyz` and `/metrics` of one process. A process that lags is *not* healthy."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import uvicorn
from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gpuward.runtime.metrics import REGISTRY
from gpuward.runtime.settings import Settings

Check = Callable[[], str | None]
"""None when all is well, else one sentence that says what is wrong."""


class Health:
    """What the process says of itself. `ready` is set once it can do its work; checks are asked at each request."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}
        self.ready = False
        self.port = 0

    def add(self, name: str, check: Check) -> None:
        self._checks[name] = check

    def problems(self) -> dict[str, str]:
        """Name of each failing check → what is wrong."""
        return {name: problem for name, check in self._checks.items() if (problem := check()) is not None}

    def _answer(self, *, ready: bool) -> Response:
        problems = self.problems()
        if ready and not self.ready:
            problems["ready"] = "the process is still starting"
        return JSONResponse({"ok": not problems, "problems": problems}, status_code=503 if problems else 200)

    def app(self) -> Starlette:
        async def healthz(_: Request) -> Response:
            return self._answer(ready=False)

        async def readyz(_: Request) -> Response:
            return self._answer(ready=True)

        async def metrics(_: Request) -> Response:
            return Response(generate_latest(REGISTRY), media_type="text/plain; version=0.0.4")

        return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)])


@contextlib.asynccontextmanager
async def serve(health: Health, settings: Settings) -> AsyncIterator[Health]:
    """Serves until the block ends. Raises OSError when the port is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.health_host, settings.health_port))
        health.port = listener.getsockname()[1]
        server = _Quiet(uvicorn.Config(health.app(), log_config=None, access_log=False, lifespan="off"))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield health
        finally:
            server.should_exit = True
            await task


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The process owns its signals, not its web server."""
        yield
