"""The HTTP door of the world. `docs` of each route is its function's docstring; bodies and answers are JSON."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gpuward.simulator import acts, faults, misbehaviour, views, world
from gpuward.simulator.state import Act, Misbehaviour, NodeState, WorldState
from gpuward.simulator.store import Store

TICK_S = 0.1
SAVE_S = 0.5
_NOT_FOUND, _UNAVAILABLE, _WRONG = 404, 503, 422


class World:
    """A state with a clock and a file. Not thread-safe: one event loop owns it."""

    def __init__(self, state: WorldState, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.state = state
        self._store = store
        self._clock = clock
        self._dirty = False

    def now(self) -> float:
        """Brings the world up to the present and says when that is."""
        now = self._clock()
        self._dirty |= world.advance(self.state, now)
        return now

    def keep(self) -> None:
        """Writes the state now: what has been answered is not forgotten by a kill."""
        self._store.save(self.state)
        self._dirty = False

    async def run(self, stop: asyncio.Event) -> None:
        """Lets time pass until `stop`."""
        saved = 0.0
        while not stop.is_set():
            self.now()
            if self._dirty and time.monotonic() - saved > SAVE_S:
                self.keep()
                saved = time.monotonic()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), TICK_S)
        self.keep()


class _Door:
    def __init__(self, live: World) -> None:
        self._live = live

    def _up(self, request: Request) -> tuple[NodeState, float]:
        now = self._live.now()
        node = self._live.state.node(request.path_params["node"])
        if not node.up:
            raise _DownError(node.name)
        return node, now

    async def nodes(self, request: Request) -> Response:
        """GET /nodes: every node with its rack, BMC address, power and whether its host answers."""
        del request
        self._live.now()
        listed = [
            {
                "node": n.name,
                "rack": n.rack,
                "bmc": n.bmc,
                "up": n.up,
                "power": n.power,
                "boot_id": n.boot_id,
                "gpus": len(n.gpus),
            }
            for n in self._live.state.nodes.values()
        ]
        return JSONResponse({"nodes": listed, "scale": self._live.state.durations.scale})

    async def host(self, request: Request) -> Response:
        """GET /nodes/{node}: what the host says under this boot; 503 while it is down."""
        node, now = self._up(request)
        return _json(views.host(node, now))

    async def kernel(self, request: Request) -> Response:
        """GET /nodes/{node}/kernel?after=&boot=&limit=: its kernel log, through the host."""
        node, _ = self._up(request)
        query = request.query_params
        lines = views.kernel(node, int(query.get("after", -1)), query.get("boot", ""), int(query.get("limit", 1000)))
        told = [
            {"sequence": line.sequence, "time": views.instant(line.time).isoformat(), "text": line.text}
            for line in lines
        ]
        return JSONResponse({"boot_id": query.get("boot") or node.boot_id, "lines": told})

    async def diagnostic(self, request: Request) -> Response:
        """GET /nodes/{node}/diagnostic: the last one under this boot, `passed` null while it runs; 404 if there is none."""
        node, _ = self._up(request)
        if node.diagnostic is None:
            return JSONResponse({"error": f"no diagnostic was started on {node.name} under this boot"}, _NOT_FOUND)
        return JSONResponse(views.diagnostic(node.diagnostic))

    async def poll(self, request: Request) -> Response:
        """POST /poll {cursors, inventory}: what an agent reads, for all nodes that speak (`views.poll`)."""
        body = await _body(request)
        now = self._live.now()
        return _json(views.poll(self._live.state, now, body.get("cursors") or {}, body.get("inventory", "")))

    async def bmc(self, request: Request) -> Response:
        """GET /bmc/{address}: system UUID and power of the machine that the address leads to."""
        self._live.now()
        return _json(views.bmc(self._live.state, request.path_params["address"]))

    async def counts(self, request: Request) -> Response:
        """GET /counts: every act that reached a machine, in order, and how many per node and kind."""
        del request
        self._live.now()
        totals: dict[str, dict[str, int]] = {}
        for act in self._live.state.acts:
            of_node = totals.setdefault(act.node, {})
            of_node[act.kind] = of_node.get(act.kind, 0) + 1
        return JSONResponse({"totals": totals, "acts": [_told(act) for act in self._live.state.acts]})

    async def act(self, request: Request) -> Response:
        """POST /nodes/{node}/{reset|reboot|evict|validate|cordon|uncordon}: an act through the host or its scheduler."""
        name, kind = request.path_params["node"], request.path_params["kind"]
        body = await _body(request)
        state, now = self._live.state, self._live.now()
        calls: dict[str, Callable[[], acts.Answer]] = {
            "reset": lambda: acts.reset(state, name, now, list(body.get("gpus", ()))),
            "reboot": lambda: acts.reboot(state, name, now),
            "evict": lambda: acts.evict(
                state, name, now, body.get("mode", "immediate"), float(body.get("deadline_s", 0))
            ),
            "validate": lambda: acts.validate(state, name, now, int(body.get("level", 1))),
            "cordon": lambda: acts.cordon(
                state, name, now, body["owner"], body.get("reason", ""), lease=bool(body.get("lease"))
            ),
            "uncordon": lambda: acts.uncordon(state, name, now, body["owner"]),
        }
        return self._answer(calls[kind]())

    async def power_cycle(self, request: Request) -> Response:
        """POST /bmc/{address}/power_cycle: cuts and restores the power of the machine that the address leads to."""
        return self._answer(acts.power_cycle(self._live.state, request.path_params["address"], self._live.now()))

    async def inject(self, request: Request) -> Response:
        """POST /inject: breaks something (`faults.Injection`)."""
        what = faults.Injection.model_validate(await _body(request))
        gpus = faults.inject(self._live.state, self._live.now(), what)
        self._live.keep()
        return JSONResponse({"gpus": gpus})

    async def misbehave(self, request: Request) -> Response:
        """POST /misbehave {node, how, acts?, times?, to?, delay_s?} or {how: move_gpu, gpu, to}."""
        body = await _body(request)
        state, now = self._live.state, self._live.now()
        if body.get("how") == "move_gpu":
            misbehaviour.move_gpu(state, now, body["gpu"], body["to"])
        else:
            misbehaviour.misbehave(state, state.node(body.pop("node")), Misbehaviour.model_validate(body))
        self._live.keep()
        return JSONResponse({"ok": True})

    async def person(self, request: Request) -> Response:
        """POST /person/{cordon|uncordon|lease} {node, owner, reason}: somebody else than gpuward does it; not counted."""
        body = await _body(request)
        self._live.now()
        node = self._live.state.node(body["node"])
        what, owner = request.path_params["what"], body.get("owner", "person/alex")
        if what == "cordon":
            node.cordons[owner] = body.get("reason", "")
        elif what == "uncordon":
            node.cordons.pop(owner, None)
        else:
            node.lease = owner
        self._live.keep()
        return JSONResponse({"cordons": node.cordons, "lease": node.lease})

    def _answer(self, answer: acts.Answer) -> Response:
        self._live.keep()
        return _LostResponse() if answer.lost else JSONResponse(answer.body, answer.status)


class _DownError(Exception):
    pass


class _LostResponse(Response):
    """Promises a body and hangs up: the client cannot know what became of its request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"64")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})


def build_app(live: World) -> Starlette:
    """The ASGI application over one world."""
    door = _Door(live)
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

    return Starlette(routes=routes, exception_handlers={KeyError: missing, ValueError: wrong, _DownError: down})


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


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    if not raw:
        return {}
    body = await request.json()
    if not isinstance(body, dict):
        raise ValueError("the body is to be a JSON object")  # noqa: TRY004 - answered as 422
    return body


def _json(model: BaseModel) -> Response:
    return Response(model.model_dump_json(), media_type="application/json")


def _told(act: Act) -> dict[str, Any]:
    return {**act.model_dump(), "time": views.instant(act.time).isoformat()}
