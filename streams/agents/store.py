"""Where the views of a partition are kept: decoded in memory, written to a keyed store only when they changed.

What was kept is written by `flush`, and only after all that it caused was acknowledged.

The store holds raw bytes. The volatile part lives in memory alone, a dict per assigned partition, dropped on revocation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import orjson

from gpuward.contracts.identity import NodeId
from streams.rules.silence import PartitionView
from streams.rules.view import NodeView, Volatile

_PLACE = b"\x00place"
"""Watermark and next offset: small, written often."""
_HEARD = b"\x00heard"
"""The whole partition view: written seldom, since a restart re-reads longer than that."""
HEARD_EVERY_MS = 30_000
PLACE_EVERY_RECORDS = 200
PLACE_EVERY_MS = 5_000


class Store(Protocol):
    """A keyed store of which each partition is its own; a Faust table, or RocksDB itself."""

    def get(self, partition: int, key: bytes) -> bytes | None: ...
    def put(self, partition: int, key: bytes, value: bytes) -> None: ...


@dataclass(slots=True)
class _Partition:
    view: PartitionView
    nodes: dict[NodeId, NodeView] = field(default_factory=dict)
    volatile: dict[NodeId, Volatile] = field(default_factory=dict)
    placed: tuple[int, int] = (0, 0)
    heard_ms: int = 0
    dirty: set[NodeId] = field(default_factory=set)


class Views:
    """The views of the partitions that this process reads. Only what was put with `keep` survives a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._partitions: dict[int, _Partition] = {}

    def forget(self, partition: int) -> None:
        """The partition is read by another process, or anew."""
        self._partitions.pop(partition, None)

    def node(self, partition: int, node: NodeId) -> NodeView:
        there = self._there(partition)
        view = there.nodes.get(node)
        if view is None:
            kept = self._store.get(partition, node.encode())
            view = NodeView.model_validate_json(kept) if kept else NodeView(node=node)
            there.nodes[node] = view
        return view

    def volatile(self, partition: int, node: NodeId) -> Volatile:
        return self._there(partition).volatile.get(node) or Volatile()

    def keep(self, partition: int, view: NodeView) -> None:
        """The view from now on; `flush` writes it, if it is another one than before."""
        there = self._there(partition)
        if there.nodes.get(view.node) is not view:
            there.nodes[view.node] = view
            there.dirty.add(view.node)

    def remember(self, partition: int, node: NodeId, volatile: Volatile) -> None:
        self._there(partition).volatile[node] = volatile

    def partition(self, partition: int) -> PartitionView:
        return self._there(partition).view

    def keep_partition(self, partition: int, view: PartitionView) -> None:
        self._there(partition).view = view

    def flush(self) -> None:
        """Writes every view that changed, then how far each partition is done."""
        for partition, there in self._partitions.items():
            for node in there.dirty:
                self._store.put(partition, node.encode(), there.nodes[node].to_json())
            there.dirty.clear()
            self._flush_place(partition, there)

    def _flush_place(self, partition: int, there: _Partition) -> None:
        view = there.view
        if view.watermark_ms - there.heard_ms >= HEARD_EVERY_MS:
            self._store.put(partition, _HEARD, view.to_json())
            there.heard_ms = view.watermark_ms
        far = view.next_offset - there.placed[0] >= PLACE_EVERY_RECORDS
        if far or view.watermark_ms - there.placed[1] >= PLACE_EVERY_MS:
            self._store.put(partition, _PLACE, orjson.dumps([view.watermark_ms, view.next_offset]))
            there.placed = (view.next_offset, view.watermark_ms)

    def place(self, partition: int) -> tuple[int, int] | None:
        """Watermark in ms and next offset as they were last written; None where this partition was never worked on."""
        kept = self._store.get(partition, _PLACE)
        if kept is None:
            return None
        watermark_ms, next_offset = orjson.loads(kept)
        return int(watermark_ms), int(next_offset)

    def _there(self, partition: int) -> _Partition:
        there = self._partitions.get(partition)
        if there is None:
            kept = self._store.get(partition, _HEARD)
            view = PartitionView.model_validate_json(kept) if kept else PartitionView()
            placed = self.place(partition)
            if placed is not None:
                view = view.model_copy(update={"watermark_ms": max(view.watermark_ms, placed[0])})
            view = view.model_copy(update={"next_offset": placed[1] if placed else 0})
            there = self._partitions[partition] = _Partition(
                view, placed=(view.next_offset, view.watermark_ms), heard_ms=view.watermark_ms
            )
        return there
