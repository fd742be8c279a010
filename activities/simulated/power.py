"""The power over a simulated world, through its HTTP API."""

from __future__ import annotations

from typing import Any

import httpx

from activities.power import Bmc, Cordons, Declined, Diagnosis, Gpu, Host, Unanswered, Unreachable, Unsent
from gpuward.contracts.identity import NodeId

_DOWN = frozenset({httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT})
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class SimulatedPower:
    """`timeout_s`: how long an answer is waited for. Connections are not kept, so that a failed connect proves that an
    act never left.
    """

    name = "simulated"

    def __init__(self, base_url: str, *, timeout_s: float = 10.0) -> None:
        self._http = httpx.AsyncClient(
            base_url=base_url, timeout=timeout_s, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def close(self) -> None:
        """Lets go of the connections."""
        await self._http.aclose()

    async def host(self, node: NodeId) -> Host:
        told = await self._read("GET", f"/nodes/{node}")
        gpus = tuple(Gpu.model_validate(gpu) for gpu in told.pop("gpus"))
        return Host.model_validate({**told, "gpus": gpus})

    async def bmc(self, address: str) -> Bmc:
        return Bmc.model_validate(await self._read("GET", f"/bmc/{address}"))

    async def kernel_log(self, node: NodeId, last: int) -> list[str]:
        told = await self._read("GET", f"/nodes/{node}/kernel", {"limit": 1_000_000})
        return [f"{line['time']} {line['text']}" for line in told["lines"][-last:]]

    async def reset_gpus(self, node: NodeId, gpus: tuple[str, ...]) -> dict[str, Any]:
        return await self._act(f"/nodes/{node}/reset", {"gpus": list(gpus)})

    async def reboot(self, node: NodeId) -> dict[str, Any]:
        return await self._act(f"/nodes/{node}/reboot")

    async def power_cycle(self, address: str) -> dict[str, Any]:
        return await self._act(f"/bmc/{address}/power_cycle")

    async def evict(self, node: NodeId, mode: str, deadline_s: float) -> dict[str, Any]:
        return await self._act(f"/nodes/{node}/evict", {"mode": mode, "deadline_s": deadline_s})

    async def cordon(self, node: NodeId, owner: str, reason: str) -> Cordons:
        told = await self._again(f"/nodes/{node}/cordon", {"owner": owner, "reason": reason, "lease": True})
        return Cordons(others=told["others"])

    async def uncordon(self, node: NodeId, owner: str) -> Cordons:
        told = await self._again(f"/nodes/{node}/uncordon", {"owner": owner})
        return Cordons(others=told["cordons"])

    async def diagnose(self, node: NodeId, level: int) -> None:
        await self._again(f"/nodes/{node}/validate", {"level": level})

    async def diagnosis(self, node: NodeId) -> Diagnosis | None:
        response = await self._reach("GET", f"/nodes/{node}/diagnostic")
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        return Diagnosis.model_validate(_body(response))

    async def _read(self, method: str, path: str, query: dict[str, Any] | None = None) -> dict[str, Any]:
        response = await self._reach(method, path, params=query)
        if response.is_error:
            raise Unreachable(f"{path}: {_error(response)}")
        return _body(response)

    async def _again(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What may be repeated: a lost answer is only a reason to ask again."""
        response = await self._reach("POST", path, json=body)
        if response.is_error:
            raise Declined(f"{path}: {_error(response)}")
        return _body(response)

    async def _reach(self, method: str, path: str, **how: Any) -> httpx.Response:
        try:
            response = await self._http.request(method, path, **how)
        except httpx.HTTPError as error:
            raise Unreachable(f"{path}: no answer: {error!r}") from error
        if response.status_code in _DOWN:
            raise Unreachable(f"{path}: {_error(response)}")
        return response

    async def _act(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What may never be repeated."""
        try:
            response = await self._http.post(path, json=body or {})
        except _NEVER_SENT as error:
            raise Unsent(f"{path}: no connection: {error!r}") from error
        except httpx.HTTPError as error:
            raise Unanswered(f"{path}: {error!r}") from error
        if response.is_server_error:
            raise Unanswered(f"{path}: {response.status_code} {_error(response)}")
        if response.is_error:
            raise Declined(f"{path}: {_error(response)}")
        return _body(response)


def _body(response: httpx.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    return body


def _error(response: httpx.Response) -> str:
    try:
        return str(_body(response).get("error", response.status_code))
    except ValueError:
        return f"status {response.status_code}"
