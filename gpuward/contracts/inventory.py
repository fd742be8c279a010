"""What stands where: one record per node and source; readers merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field

from gpuward.contracts.identity import DomainId, Entity, GpuId, NodeId, PoolId, RackId, Slot
from gpuward.contracts.model import Contract
from gpuward.contracts.seat import Address, Seat


class GpuSeat(Contract):
    """One GPU of a node: who it is, where it sits, and its serial."""

    gpu: GpuId
    slot: Slot
    domain: DomainId | None = None
    serial: str = ""


class NodeInventory(Contract):
    """What one source says of one node. Key on Kafka: `<node>|<source>`; partition: murmur2(node).

    A source leaves out what it does not know (None, empty). `removed` is a source's last word on a node.
    """

    node: NodeId
    source: str
    time: datetime
    boot_id: str = ""
    rack: RackId | None = None
    address: Address = Address()
    gpus: tuple[GpuSeat, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    removed: bool = False

    @property
    def key(self) -> str:
        return f"{self.node}|{self.source}"


class MergedNode(Contract):
    """What all sources together say of one node."""

    node: NodeId
    version: int = 0
    """Event time in ms of the newest record that changed something."""
    boot_id: str = ""
    rack: RackId | None = None
    pool: PoolId | None = None
    address: Address = Address()
    gpus: tuple[GpuSeat, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    removed: bool = False

    def seat(self, gpu: GpuSeat | None = None, *, epoch: int | None = None) -> Seat:
        """The seat of the node, or of one of its GPUs."""
        return Seat(
            node=self.node,
            slot=gpu.slot if gpu else None,
            rack=self.rack,
            domain=gpu.domain if gpu else None,
            pool=self.pool,
            epoch=self.version if epoch is None else epoch,
            address=self.address,
        )


class InventoryChanged(Contract):
    """Tells an actor where it stands now; this is how node, rack and GPU actors are born.

    To a GPU: `seat` has its slot. To a node: `gpus` are its GPUs. To a rack: `seat.node` is a member that stands in it
    (`removed`: no longer).
    """

    kind: Literal["inventory"] = "inventory"
    entity: Entity
    seat: Seat
    time: datetime
    boot_id: str = ""
    gpus: tuple[GpuSeat, ...] = ()
    removed: bool = False


def merge(records: Iterable[NodeInventory], pool_of: Mapping[str, Mapping[str, str]]) -> MergedNode | None:
    """One node from its sources' records: per field the newest non-empty value, labels joined with the newest winning.

    `pool_of` maps a pool's name to the labels that select it; the first whose labels all match wins (`select_pool`).
    None where there are no records. Raises ValueError when the records are of different nodes.
    """
    ordered = sorted(records, key=lambda record: (record.time, record.source))
    if not ordered:
        return None
    if len({record.node for record in ordered}) > 1:
        raise ValueError(f"records of several nodes: {sorted({str(record.node) for record in ordered})}")
    live = [record for record in ordered if not record.removed]
    rack: RackId | None = None
    boot_id, address = "", Address()
    gpus: tuple[GpuSeat, ...] = ()
    labels: dict[str, str] = {}
    for record in live:
        rack = record.rack or rack
        boot_id = record.boot_id or boot_id
        gpus = record.gpus or gpus
        labels |= record.labels
        address = address.model_copy(update={k: v for k, v in record.address.model_dump().items() if v})
    return MergedNode(
        node=ordered[0].node,
        version=int(ordered[-1].time.timestamp() * 1000),
        boot_id=boot_id,
        rack=rack,
        pool=select_pool(labels, rack, pool_of),
        address=address,
        gpus=gpus,
        labels=labels,
        removed=not live,
    )


def select_pool(labels: Mapping[str, str], rack: str | None, pools: Mapping[str, Mapping[str, str]]) -> PoolId | None:
    """The first pool whose selector matches: every label it names has that value (`rack` is a label of every node)."""
    seen = {**labels, **({"rack": str(rack)} if rack else {})}
    for name, selector in pools.items():
        if all(seen.get(label) == value for label, value in selector.items()):
            return PoolId(name)
    return None
