"""Asks the processes of a data directory whether they are ready, by the addresses that they wrote under `health/`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import httpx


class Readiness(NamedTuple):
    """What one process says. `problem` is None when all is well, else what is wrong in one sentence."""

    name: str
    problem: str | None
    address: str | None = None


async def ask(data: Path, names: Iterable[str]) -> list[Readiness]:
    """What each of these processes says now."""
    async with httpx.AsyncClient(trust_env=False, timeout=3) as http:
        return list(await asyncio.gather(*(_ask(http, data / "health" / name, name) for name in names)))


async def _ask(http: httpx.AsyncClient, file: Path, name: str) -> Readiness:
    address = _address(file)
    if address is None:
        return Readiness(name, f"{name} has not started")
    try:
        response = await http.get(f"{address}/readyz")
        problems = dict(response.json().get("problems", {}))
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        return Readiness(name, f"{name} does not answer at {address} ({type(error).__name__})", address)
    if response.status_code == httpx.codes.OK:
        return Readiness(name, None, address)
    said = "; ".join(str(problem) for problem in problems.values()) or f"it answers {response.status_code}"
    return Readiness(name, f"{name} is not ready: {said}", address)


def _address(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None
