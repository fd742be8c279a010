"""The machine that the agent runs on, as a node: its collectors, each with its own time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from datetime import UTC, datetime
from pathlib import Path

from gpuward.contracts.identity import NodeId, RackId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.seat import Address
from ingest.agent import failure
from ingest.collectors.kernel_log import boot_id_of_host
from ingest.collectors.protocol import Collector, Seen
from ingest.limited import LimitedCall

SMBIOS_UUID = Path("/sys/class/dmi/id/product_uuid")


def _now() -> datetime:
    return datetime.now(UTC)


class LocalNode:
    """NodeSource over the collectors that this machine supports.

    Law: a collector that hangs or raises becomes one observation and stops no other; what it brings late is not lost.
    """

    def __init__(
        self,
        node: NodeId,
        collectors: Sequence[Collector],
        *,
        rack: RackId | None = None,
        labels: dict[str, str] | None = None,
        limit_s: float = 3.0,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        """`limit_s` is the limit of each collector, below the agent's for the node as a whole."""
        self.node = node
        self._collectors = [collector for collector in collectors if collector.supported()]
        self._calls = {
            collector.name: LimitedCall(_polling(collector), collector.name) for collector in self._collectors
        }
        self._failing: set[str] = set()
        self._rack = rack
        self._labels = labels or {}
        self._limit_s = limit_s
        self._clock = clock

    def boot_id(self) -> str:
        return boot_id_of_host()

    def inventory(self) -> NodeInventory:
        return NodeInventory(
            node=self.node,
            source=f"agent/{self.node}",
            time=self._clock(),
            boot_id=self.boot_id(),
            rack=self._rack,
            address=Address(smbios_uuid=_smbios_uuid()),
            labels=self._labels,
        )

    def poll(self) -> Iterator[Seen]:
        running = {name: call.begin() for name, call in self._calls.items()}
        wait(running.values(), timeout=self._limit_s)
        for name, future in running.items():
            if not future.done():
                yield from self._failed(name, "stalled", f"no answer within {self._limit_s:g} s")
                continue
            self._calls[name].taken()
            error = future.exception()
            if error is not None:
                yield from self._failed(name, "error", f"{type(error).__name__}: {error}"[:200])
                continue
            self._failing.discard(name)
            yield from future.result()

    def close(self) -> None:
        for collector in self._collectors:
            collector.close()

    def _failed(self, name: str, reason: str, error: str) -> Iterator[Seen]:
        if name not in self._failing:
            self._failing.add(name)
            yield failure(name, self.node, self.boot_id(), self._clock(), reason, error)


def _polling(collector: Collector) -> Callable[[], list[Seen]]:
    return lambda: list(collector.poll())


def _smbios_uuid() -> str:
    """Readable by root only; empty elsewhere, and the node is then watch-only."""
    try:
        return SMBIOS_UUID.read_text(encoding="ascii").strip().lower()
    except OSError:
        return ""
