"""Every node of a simulated world, read through its one bulk door: one request per tick, however many nodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx
import orjson

from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import DomainId, GpuId, NodeId, RackId, Slot
from gpuward.contracts.inventory import GpuSeat, NodeInventory
from gpuward.contracts.observations import NodeSample, observation_id
from gpuward.contracts.seat import Address
from ingest.collectors.protocol import KernelLine, Seen

SOURCE = "simulated"
"""Name of this inventory source, and of the power that its nodes answer to."""
_PAGES = 50
_AFTER_FAILURE_S = 1.0
"""For so long every node is told of a failed request, and none repeats it."""
T = TypeVar("T")


class SimulatedFeed:
    """Polls the world once per round and deals out what each node said. Thread-safe.

    A round ends when a node asks a second time. The cursors are per node and in memory only: after a restart everything
    that the world still has is read again, and gives the same observation ids (boot id and kernel sequence).
    """

    def __init__(self, base_url: str, *, timeout_s: float = 4.0) -> None:
        self._http = httpx.Client(base_url=base_url, timeout=timeout_s)
        self._lock = threading.Lock()
        self._round = 0
        self._failure: Transient | None = None
        self._again_at = 0.0
        self._cursors: dict[str, int] = {}
        self._version = ""
        self._inventory: dict[str, NodeInventory] = {}
        self._samples: dict[str, NodeSample] = {}
        self._lines: dict[str, list[KernelLine]] = {}

    def sources(self) -> list[SimulatedNode]:
        """One source per node of the world, also for those that are down now. Raises Transient."""
        listed = self._ask("GET", "/nodes")["nodes"]
        return [SimulatedNode(self, NodeId(node["node"])) for node in listed]

    def round(self, after: int) -> int:
        """The newest round, polled now if the caller has seen it already. Raises Transient."""
        with self._lock:
            if after < self._round:
                return self._round
            if self._failure is not None and time.monotonic() < self._again_at:
                raise Transient(str(self._failure)) from self._failure
            self._failure = None
            try:
                self._refresh()
            except Transient as failure:
                self._failure, self._again_at = failure, time.monotonic() + _AFTER_FAILURE_S
                raise
            return self._round

    def sample(self, node: NodeId) -> NodeSample:
        """Raises Transient where the node said nothing in this round."""
        with self._lock:
            return _said(self._samples, node)

    def inventory(self, node: NodeId) -> NodeInventory:
        """Raises Transient where the node said nothing in this round."""
        with self._lock:
            _said(self._samples, node)
            return _said(self._inventory, node)

    def take_lines(self, node: NodeId) -> list[KernelLine]:
        """Kernel lines not handed out yet, in order."""
        with self._lock:
            return self._lines.pop(node, [])

    def close(self) -> None:
        self._http.close()

    def _refresh(self) -> None:
        for _ in range(_PAGES):
            told = self._ask("POST", "/poll", {"cursors": self._cursors, "inventory": self._version})
            for _n, node, boot_id, sequence, seconds, text in told["lines"]:
                line = KernelLine(sequence, boot_id, text, datetime.fromtimestamp(seconds, UTC))
                self._lines.setdefault(node, []).append(line)
            self._cursors |= told["cursors"]
            if not told["more"]:
                break
        self._version = told["inventory_version"]
        self._inventory |= {entry["node"]: _standing(entry) for entry in told["inventory"]}
        self._samples = {entry["node"]: _sample(entry, told["time"]) for entry in told["samples"]}
        self._round += 1

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, json=body)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise Transient(f"the simulated world at {self._http.base_url} did not answer {path}: {error!r}") from error
        answer: dict[str, Any] = orjson.loads(response.content)
        return answer


class SimulatedNode:
    """One node of the world, as a `NodeSource`. A node that is down or silent raises Transient."""

    def __init__(self, feed: SimulatedFeed, node: NodeId) -> None:
        self._feed = feed
        self._node = node
        self._seen = 0

    @property
    def node(self) -> NodeId:
        return self._node

    def boot_id(self) -> str:
        """Begins this node's round: what follows is read from the same answer of the world."""
        self._seen = self._feed.round(self._seen)
        return self._feed.sample(self._node).boot_id

    def inventory(self) -> NodeInventory:
        return self._feed.inventory(self._node)

    def poll(self) -> Iterable[Seen]:
        """Kernel lines since the last call, then a full sample."""
        sample = self._feed.sample(self._node)
        return [*self._feed.take_lines(self._node), sample]


def _said(told: dict[str, T], node: NodeId) -> T:
    if node not in told:
        raise Transient(f"{node} says nothing: it is down or silent")
    return told[node]


def _sample(entry: dict[str, Any], moment: str) -> NodeSample:
    return NodeSample(
        id=observation_id("sample", entry["node"], entry["boot_id"], moment),
        time=datetime.fromisoformat(moment),
        boot_id=entry["boot_id"],
        full=True,
        slots=tuple(Slot(slot) for slot in entry["slots"]),
        gpus=tuple(GpuId(gpu) for gpu in entry["gpus"]),
        columns=entry["columns"],
        node=entry["values"],
    )


def _standing(entry: dict[str, Any]) -> NodeInventory:
    domain = DomainId(entry["domain"])
    gpus = tuple(
        GpuSeat(gpu=GpuId(gpu["uuid"]), slot=Slot(gpu["slot"]), domain=domain, serial=gpu["serial"])
        for gpu in entry["gpus"]
    )
    return NodeInventory(
        node=NodeId(entry["node"]),
        source=SOURCE,
        time=datetime.fromisoformat(entry["time"]),
        boot_id=entry["boot_id"],
        rack=RackId(entry["rack"]),
        address=Address(provider=SOURCE, bmc=entry["bmc"], smbios_uuid=entry["smbios_uuid"]),
        gpus=gpus,
        labels=entry["labels"],
    )
