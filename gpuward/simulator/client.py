"""A typed client of the world: what the command line, the demo and the tests use to break things and to count."""

from __future__ import annotations

from typing import Any, Self

import httpx
from pydantic import BaseModel

from gpuward.contracts.errors import Permanent, Transient
from gpuward.simulator.views import BmcView, HostView, Poll


class Counted(BaseModel):
    """One act that reached a machine."""

    node: str
    kind: str
    time: str
    answer: str
    gpus: list[str]
    via: str


class Counts(BaseModel):
    """Every act in order, and how many per node and kind."""

    totals: dict[str, dict[str, int]]
    acts: list[Counted]

    def of(self, node: str, kind: str) -> int:
        return self.totals.get(node, {}).get(kind, 0)


class WorldClient:
    """One method per route. Raises Permanent where the world says that the request is wrong, Transient where it or the
    host asked for does not answer.
    """

    def __init__(self, base_url: str, *, timeout_s: float = 10.0) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, timeout=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.aclose()

    async def nodes(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = (await self._get("/nodes"))["nodes"]
        return listed

    async def host(self, node: str) -> HostView:
        return HostView.model_validate(await self._get(f"/nodes/{node}"))

    async def kernel(self, node: str, *, after: int = -1, boot: str = "") -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = (await self._get(f"/nodes/{node}/kernel", after=after, boot=boot))["lines"]
        return lines

    async def bmc(self, address: str) -> BmcView:
        return BmcView.model_validate(await self._get(f"/bmc/{address}"))

    async def poll(self, cursors: dict[str, int] | None = None, inventory: str = "") -> Poll:
        return Poll.model_validate(await self._post("/poll", {"cursors": cursors or {}, "inventory": inventory}))

    async def counts(self) -> Counts:
        return Counts.model_validate(await self._get("/counts"))

    async def inject(self, **what: Any) -> list[str]:
        """`faults.Injection` by keyword; the UUIDs of the GPUs concerned."""
        gpus: list[str] = (await self._post("/inject", what))["gpus"]
        return gpus

    async def misbehave(self, node: str, how: str, **more: Any) -> None:
        await self._post("/misbehave", {"node": node, "how": how, **more})

    async def move_gpu(self, gpu: str, to: str) -> None:
        await self._post("/misbehave", {"how": "move_gpu", "gpu": gpu, "to": to})

    async def person(self, what: str, node: str, owner: str = "person/alex", reason: str = "") -> None:
        """`cordon`, `uncordon` or `lease`, by somebody else than gpuward."""
        await self._post(f"/person/{what}", {"node": node, "owner": owner, "reason": reason})

    async def act(self, node: str, kind: str, **body: Any) -> dict[str, Any]:
        return await self._post(f"/nodes/{node}/{kind}", body)

    async def power_cycle(self, address: str) -> dict[str, Any]:
        return await self._post(f"/bmc/{address}/power_cycle", {})

    async def _get(self, path: str, **query: Any) -> dict[str, Any]:
        return await self._ask("GET", path, params=query)

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self._ask("POST", path, json=body)

    async def _ask(self, method: str, path: str, **how: Any) -> dict[str, Any]:
        try:
            response = await self._http.request(method, path, **how)
        except httpx.HTTPError as error:
            raise Transient(f"the world at {self._http.base_url} did not answer {method} {path}: {error!r}") from error
        body: dict[str, Any] = response.json()
        if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            raise Transient(f"{method} {path}: {body.get('error')}")
        if response.is_error:
            raise Permanent(f"{method} {path}: {body.get('error')}")
        return body
