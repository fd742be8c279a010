"""The bodies of `roll_up`: faults re-keyed by rack, and many silent nodes of one rack as one fault of the rack.

The same rules as everywhere: acknowledged first, then the view; ids (here revisions) make re-reading harmless.
"""

from __future__ import annotations

from gpuward.contracts.envelope import Envelope
from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import Entity, EntityKind, RackId
from gpuward.contracts.inventory import InventoryChanged
from gpuward.contracts.topics import FAULTS_BY_RACK
from streams.agents.publish import ROLL_UP, Publisher
from streams.agents.record import Record, Unusable, read
from streams.agents.store import Store
from streams.rules.clearing import SILENT_CLASS
from streams.rules.context import Classify, Context, to_ms
from streams.rules.rack_silence import RackView, take_fault, with_member

_SILENT = SILENT_CLASS.encode()


class Rekey:
    """`fleet.faults.v1` → `fleet.faults-by-rack.v1`: what a rack rule reads, and nothing of its own."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def __call__(self, record: Record) -> None:
        if _source(record) == ROLL_UP or _SILENT not in (record.value or b""):
            return
        fault = read(Fault, record)
        if fault.fault_class == SILENT_CLASS and fault.seat.rack is not None:
            await self._publisher.by_rack(Entity.rack(fault.seat.rack), fault)


class Roller:
    """`fleet.faults-by-rack.v1` and the inventory changes of racks → rack faults."""

    def __init__(self, store: Store, publisher: Publisher, classify: Classify) -> None:
        self._store = store
        self._publisher = publisher
        self._classify = classify

    async def __call__(self, record: Record) -> None:
        key = (record.key or b"").decode("utf-8", "replace")
        if record.topic == FAULTS_BY_RACK:
            await self._fault(record, key)
        elif key.startswith(f"{EntityKind.RACK}/"):
            self._member(record, key)

    async def _fault(self, record: Record, key: str) -> None:
        fault = read(Fault, record)
        if fault.seat.rack is None or key != Entity.rack(fault.seat.rack):
            raise Unusable("misaddressed", f"the fault is of rack {fault.seat.rack}, and its key names {key[:100]}")
        view = self._view(record)
        context = Context(
            partition=record.partition,
            offset=record.offset,
            now=fault.last_seen,
            classify=self._classify,
            topic=record.topic,
        )
        after, told = take_fault(view, RackId(fault.seat.rack), fault, context)
        await self._publisher.faults(told)
        self._keep(record, view, after)

    def _member(self, record: Record, key: str) -> None:
        change = read(InventoryChanged, record)
        view = self._view(record)
        node = Entity.node(change.seat.node)
        self._keep(record, view, with_member(view, node, to_ms(change.time), removed=change.removed))
        del key

    def _view(self, record: Record) -> RackView:
        kept = self._store.get(record.partition, record.key or b"")
        return RackView.model_validate_json(kept) if kept else RackView()

    def _keep(self, record: Record, before: RackView, after: RackView) -> None:
        if after is not before:
            self._store.put(record.partition, record.key or b"", after.to_json())


def _source(record: Record) -> str:
    """Who wrote it; a record without an envelope is of somebody else."""
    try:
        return Envelope.from_headers(record.headers).source
    except ValueError:
        return ""
