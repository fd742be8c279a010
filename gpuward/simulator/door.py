"""What each route of the world's HTTP API does: the docstring of a method is its documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from gpuward.simulator import acts, faults, misbehaviour, views
from gpuward.simulator.live import World
from gpuward.simulator.state import Act, Misbehaviour, NodeState

_NOT_FOUND = 404


class HostDown(Exception):  # noqa: N818 - a state of the machine, answered as 503
    """The host asked for does not answer."""


class Door:
    """The routes, over one world."""

    def __init__(self, live: World) -> None:
        self._live = live

    def _up(self, request: Request) -> tuple[NodeState, float]:
        now = self._live.now()
        node = self._live.state.node(request.path_params["node"])
        if not node.up:
            raise HostDown(node.name)
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


class _LostResponse(Response):
    """Promises a body and hangs up: the client cannot know what became of its request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"64")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})


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
