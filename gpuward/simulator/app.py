"""The HTTP door of the world as an ASGI application, and how it is served."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gpuward.simulator.door import Door, HostDown
from gpuward.simulator.live import World

__all__ = ["World", "build_app", "serve"]

_NOT_FOUND, _UNAVAILABLE, _WRONG = 404, 503, 422


def build_app(live: World) -> Starlette:
    """The ASGI application over one world."""
    door = Door(live)
    kinds = "/nodes/{node}/{kind:str}"
    routes = [
        Route("/nodes", door.nodes),
        Route("/nodes/{node}", door.host),
        Route("/nodes/{node}/kernel", door.kernel),
        Route("/nodes/{node}/diagnostic", door.diagnostic),
        Route(kinds, door.act, methods=["POST"]),
        Route("/poll", door.poll, methods=["POST"]),
        Route("/bmc/{address}", door.bmc),
        Route("/bmc/{address}/power_cycle", door.power_cycle, methods=["POST"]),
        Route("/counts", door.counts),
        Route("/inject", door.inject, methods=["POST"]),
        Route("/misbehave", door.misbehave, methods=["POST"]),
        Route("/person/{what}", door.person, methods=["POST"]),
    ]

    async def missing(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error.args[0]) if error.args else "not found"}, _NOT_FOUND)

    async def wrong(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, _WRONG)

    async def down(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": f"{error} does not answer"}, _UNAVAILABLE)

    return Starlette(routes=routes, exception_handlers={KeyError: missing, ValueError: wrong, HostDown: down})


async def serve(
    live: World, host: str, port: int, stop: asyncio.Event, ready: Callable[[int], None] = lambda _: None
) -> None:
    """Serves until `stop`; `ready` is told the port (useful with port 0). Raises OSError when the port is taken."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
        config = uvicorn.Config(
            build_app(live), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        server = _Quiet(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        ready(listener.getsockname()[1])
        try:
            await live.run(stop)
        finally:
            server.should_exit = True
            await serving


class _Quiet(uvicorn.Server):
    """The process owns its signals, not its web server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
