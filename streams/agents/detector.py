"""The body of `detect`: records → faults acknowledged by Kafka, then the views written.

Records that wait are worked on together, so that one acknowledgement is waited for, not hundreds.

Law: a fault is acknowledged before the view that remembers its cause is written. Killed in between, the same batch gives
the same fault again, with the same id and revision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuward.contracts.identity import NodeId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import ObservationBatch
from gpuward.contracts.topics import OBSERVATIONS
from gpuward.runtime import failpoints, logging, metrics
from streams.agents.effects import Effects
from streams.agents.publish import Publisher
from streams.agents.record import Record, Unusable, read
from streams.agents.store import Views
from streams.dead_letters import DeadLetters
from streams.rules.context import Classify, Context, from_ms, to_ms
from streams.rules.inventory import take_inventory
from streams.rules.silence import PartitionView, blindness, fell_silent, judge
from streams.rules.step import step

JUDGE_EVERY_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What does not change while the process runs."""

    classify: Classify
    pools: dict[str, dict[str, str]]
    overlap_records: int = 2000
    overlap_s: float = 120.0
    silent_after_s: float = 60.0


class Detector:
    """Takes the records of the partitions it is given, some at a time, in their order."""

    def __init__(self, views: Views, publisher: Publisher, letters: DeadLetters, rules: Rules) -> None:
        self._views = views
        self._publisher = publisher
        self._letters = letters
        self._rules = rules
        self._judged: dict[int, int] = {}
        self._log = logging.get("detect")

    async def __call__(self, records: Sequence[Record]) -> None:
        """Returns once what they cause is acknowledged and remembered. Raises Transient, and has written nothing then:
        the process has to end, since its memory is ahead of the store.
        """
        effects = Effects()
        for record in records:
            try:
                self._work(record, effects)
            except Unusable as wrong:
                self._log.warning("dead letter", offset=record.offset, partition=record.partition, why=str(wrong))
                effects.letters.append((record, wrong))
            if record.topic == OBSERVATIONS:
                self._done(record)
            metrics.counter("gpuward_streams_records_total").labels(record.topic).inc()
        await effects.carry_out(self._publisher, self._letters)
        if effects.faults:
            failpoints.hit("fault acknowledged")
        self._views.flush()
        if effects.faults:
            failpoints.hit("view written")

    def _work(self, record: Record, effects: Effects) -> None:
        if record.partition != record.home:
            self._misplaced(record, effects)
        elif record.topic == OBSERVATIONS:
            self._observations(record, effects)
        elif record.value is not None:
            self._inventory(record, effects)

    def _done(self, record: Record) -> None:
        view = self._views.partition(record.partition)
        if record.offset >= view.next_offset:
            self._views.keep_partition(record.partition, view.model_copy(update={"next_offset": record.offset + 1}))

    def forget(self, partition: int) -> None:
        self._views.forget(partition)
        self._judged.pop(partition, None)

    def _misplaced(self, record: Record, effects: Effects) -> None:
        if record.rerouted:
            raise Unusable("misplaced", f"re-published once, and still not on partition {record.home}")
        self._log.warning("on the wrong partition", topic=record.topic, found=record.partition, belongs=record.home)
        effects.reroutes.append(record)

    def _observations(self, record: Record, effects: Effects) -> None:
        batch = read(ObservationBatch, record)
        _owned(record, batch.node)
        partition = record.partition
        known = self._views.partition(partition)
        at_ms = to_ms(batch.time)
        passed = known.model_copy(update={"watermark_ms": max(known.watermark_ms, at_ms)})
        context = self._context(record, from_ms(passed.watermark_ms))
        view, volatile = self._views.node(partition, batch.node), self._views.volatile(partition, batch.node)
        try:
            after, volatile, faults = step(view, volatile, batch, context)
        except Exception as error:
            raise Unusable("rules-failed", f"the rules failed on it: {error!r}") from error
        effects.faults += faults
        self._views.keep(partition, after)
        self._views.remember(partition, batch.node, volatile)
        # The one thing that is changed in place: a copy per record would cost as much as all the rules.
        passed.heard[batch.node] = max(at_ms, passed.heard.get(batch.node, 0))
        self._views.keep_partition(partition, self._silence(passed, context, effects))

    def _silence(self, known: PartitionView, context: Context, effects: Effects) -> PartitionView:
        if known.watermark_ms - self._judged.get(context.partition, 0) < JUDGE_EVERY_MS:
            return known
        found = judge(known.heard, known.watermark_ms, round(self._rules.silent_after_s * 1000))
        known, faults = blindness(known, found, context)
        effects.faults += faults
        for node in found.nodes:
            view, faults = fell_silent(self._views.node(context.partition, node), known.heard[node], context)
            effects.faults += faults
            self._views.keep(context.partition, view)
        self._judged[context.partition] = known.watermark_ms
        return known

    def _inventory(self, record: Record, effects: Effects) -> None:
        told = read(NodeInventory, record)
        _owned(record, told.node)
        partition = record.partition
        now = max(told.time, from_ms(self._views.partition(partition).watermark_ms))
        view, changes, faults = take_inventory(self._views.node(partition, told.node), told, self._context(record, now))
        effects.changes += changes
        effects.faults += faults
        self._views.keep(partition, view)

    def _context(self, record: Record, now: datetime) -> Context:
        rules = self._rules
        return Context(
            partition=record.partition,
            offset=record.offset,
            now=now,
            classify=rules.classify,
            pools=rules.pools,
            overlap_records=rules.overlap_records,
            overlap_s=rules.overlap_s,
            topic=record.topic,
        )


def _owned(record: Record, node: NodeId) -> None:
    """The key decides the partition, the value names the node: they must be of the same node."""
    key = (record.key or b"").partition(b"|")[0]
    if key != node.encode():
        raise Unusable("misaddressed", f"the record is about {node}, and its key names {key[:100]!r}")
