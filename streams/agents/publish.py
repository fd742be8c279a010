"""What the streams tell, on its way to Kafka. Each call returns once Kafka has acknowledged all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gpuward.contracts.envelope import REROUTED, Envelope
from gpuward.contracts.faults import Fault
from gpuward.contracts.inventory import InventoryChanged
from gpuward.contracts.topics import FAULTS, FAULTS_BY_RACK, INVENTORY_CHANGES
from gpuward.runtime import metrics
from gpuward.runtime.kafka import Producer
from streams.agents.record import Record

DETECT = "gpuward/streams/detect"
ROLL_UP = "gpuward/streams/roll_up"


class Publisher:
    """`source` is the `ce_source` of what it sends."""

    def __init__(self, producer: Producer, source: str) -> None:
        self._producer = producer
        self._source = source

    async def faults(self, faults: Sequence[Fault]) -> None:
        """Those of one entity keep their order; those of different entities go together."""
        lanes: dict[str, list[Fault]] = {}
        for fault in faults:
            lanes.setdefault(str(fault.entity), []).append(fault)
        await asyncio.gather(*(self._lane(lane) for lane in lanes.values()))

    async def changes(self, changes: Sequence[InventoryChanged]) -> None:
        """Where entities stand now; those of one entity keep their order."""
        lanes: dict[str, list[InventoryChanged]] = {}
        for change in changes:
            lanes.setdefault(str(change.entity), []).append(change)
        await asyncio.gather(*(self._moves(lane) for lane in lanes.values()))

    async def by_rack(self, rack: str, fault: Fault) -> None:
        """The same fault under the key of its rack."""
        await self._producer.send(
            FAULTS_BY_RACK, key=rack.encode(), value=fault.to_json(), headers=self._envelope(fault).to_headers()
        )

    async def reroute(self, record: Record) -> None:
        """The record unchanged, on the partition where it belongs, marked."""
        await self._producer.send(
            record.topic,
            key=record.key or b"",
            value=record.value,
            headers=[*record.headers, (REROUTED, str(record.partition).encode())],
        )
        metrics.counter("gpuward_streams_rerouted_total").labels(record.topic).inc()

    async def _lane(self, faults: list[Fault]) -> None:
        for fault in faults:
            await self._producer.send(
                FAULTS,
                key=fault.entity.encode(),
                value=fault.to_json(),
                headers=self._envelope(fault).to_headers(),
            )
            metrics.counter("gpuward_streams_faults_total").labels(fault.phase).inc()

    async def _moves(self, changes: list[InventoryChanged]) -> None:
        for change in changes:
            await self._change(change)

    async def _change(self, change: InventoryChanged) -> None:
        time_ms = int(change.time.timestamp() * 1000)
        envelope = Envelope(
            id=f"{change.entity}@{change.seat.epoch}.{time_ms}",
            type="gpuward.inventory.changed",
            source=self._source,
            time=change.time,
        )
        await self._producer.send(
            INVENTORY_CHANGES,
            key=change.entity.encode(),
            value=change.to_json(),
            headers=envelope.to_headers(),
        )

    def _envelope(self, fault: Fault) -> Envelope:
        revision = ".".join(str(part) for part in fault.revision)
        return Envelope(
            id=f"{fault.fault_id}@{revision}", type=fault.event_type, source=self._source, time=fault.last_seen
        )
