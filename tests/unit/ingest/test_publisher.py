from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from gpuward.contracts.envelope import Envelope
from gpuward.contracts.errors import Permanent, Transient
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import KernelFaultLogged, NodeSample, ObservationBatch
from ingest.publisher import Publisher

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Broker:
    """Records what it acknowledged; can be away, or refuse."""

    def __init__(self) -> None:
        self.away = False
        self.refuse = False
        self.tries = 0
        self.taken: list[tuple[str, bytes, bytes, list]] = []

    async def send(self, topic, *, key, value, headers=()):
        self.tries += 1
        await asyncio.sleep(0)
        if self.away:
            raise Transient("no broker")
        if self.refuse:
            raise Permanent("too large")
        self.taken.append((topic, key, value, list(headers)))

    def batches(self) -> list[ObservationBatch]:
        return [ObservationBatch.model_validate_json(value) for topic, _, value, _ in self.taken if "observ" in topic]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def fault(text: str = "x") -> KernelFaultLogged:
    return KernelFaultLogged(id=text, time=NOW, code="pcie_aer", text=text)


def sample(*, full: bool) -> NodeSample:
    return NodeSample(id="s", time=NOW, full=full, columns={"power_w": [1.0] * 50})


def batch(seq: int, *seen, node: str = "n1") -> ObservationBatch:
    return ObservationBatch(node=node, boot_id="b", seq=seq, time=NOW, observations=seen)


def make(broker: Broker, clock: Clock | None = None, **more) -> Publisher:
    async def soon(_: float) -> None:
        await asyncio.sleep(0)

    return Publisher(broker, clock or Clock(), source="agent/h", sleep=soon, **more)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_the_defaults():
    backlog = Publisher(Broker(), source="agent/h").backlog
    assert (backlog.max_bytes, backlog.max_age_s) == (64 * 1024 * 1024, 300.0)


async def test_a_batch_is_one_cloud_event_keyed_by_node():
    broker = Broker()
    publisher = make(broker)
    publisher.publish(batch(1, fault()))
    assert await publisher.close(1) == 0
    ((topic, key, value, headers),) = broker.taken
    assert (topic, key) == ("fleet.observations.v1", b"n1")
    envelope = Envelope.from_headers(headers)
    assert (envelope.type, envelope.source, envelope.time) == ("gpuward.observations", "agent/h", NOW)
    assert ObservationBatch.model_validate_json(value) == batch(1, fault())


async def test_inventory_is_keyed_by_node_and_source_and_replaces_what_waits():
    broker = Broker()
    broker.away = True
    publisher = make(broker)
    for serial in ("a", "b"):
        publisher.publish_inventory(NodeInventory(node="n1", source="sim", time=NOW, labels={"v": serial}))
    await settle()
    broker.away = False
    assert await publisher.close(1) == 0
    assert [(topic, key) for topic, key, _, _ in broker.taken] == [("fleet.inventory.v1", b"n1|sim")]
    assert b'"b"' in broker.taken[0][2]


async def test_an_outage_loses_nothing_and_keeps_the_order_of_each_node():
    broker = Broker()
    broker.away = True
    publisher = make(broker)
    for seq in range(1, 21):
        for node in ("n1", "n2"):
            publisher.publish(batch(seq, fault(), node=node))
        await settle()
    assert broker.tries > 20
    assert not broker.taken
    broker.away = False
    assert await publisher.close(5) == 0
    for node in ("n1", "n2"):
        assert [b.seq for b in broker.batches() if b.node == node] == list(range(1, 21))
    assert publisher.counts.acknowledged == 40
    assert publisher.counts.resent >= 2
    assert publisher.backlog.bytes == 0


async def test_old_samples_go_and_events_stay():
    broker, clock = Broker(), Clock()
    broker.away = True
    publisher = make(broker, clock)
    publisher.publish(batch(1, sample(full=True), fault("kept")))
    publisher.publish(batch(2, sample(full=False)))
    await settle()
    clock.now = 301
    publisher.publish(batch(3, fault("new")))
    assert publisher.wants_full("n1")
    publisher.publish(batch(4, sample(full=True)))
    assert not publisher.wants_full("n1")
    broker.away = False
    await publisher.close(5)
    assert [(b.seq, [o.kind for o in b.observations]) for b in broker.batches()] == [
        (1, ["kernel"]),
        (3, ["kernel"]),
        (4, ["sample"]),
    ]
    assert (publisher.backlog.dropped.samples, publisher.backlog.dropped.discrete) == (2, 0)


async def test_too_many_bytes_take_samples_first_and_events_last():
    broker = Broker()
    broker.away = True
    publisher = make(broker, max_bytes=8_000)
    for seq in range(1, 61):
        publisher.publish(batch(seq, sample(full=seq % 3 == 1), fault(f"f{seq}")))
        await settle()
    backlog = publisher.backlog
    assert backlog.bytes <= 8_000
    assert backlog.dropped.samples == 60
    assert backlog.dropped.discrete > 0
    broker.away = False
    await publisher.close(5)
    kept = broker.batches()
    assert backlog.dropped.discrete + sum(o.kind == "kernel" for b in kept for o in b.observations) == 60
    assert [b.seq for b in kept] == sorted(b.seq for b in kept)
    assert kept[-1].seq == 60


async def test_deltas_without_their_full_sample_go_too():
    broker = Broker()
    broker.away = True
    publisher = make(broker, max_bytes=1_000)
    for seq, full in enumerate([True, False, False, True, False], 1):
        publisher.publish(batch(seq, sample(full=full)))
    broker.away = False
    await publisher.close(5)
    assert [(b.seq, b.observations[0].full) for b in broker.batches()] == [(4, True), (5, False)]
    assert publisher.backlog.dropped.samples == 3


async def test_what_kafka_refuses_is_counted_and_the_rest_goes_on():
    broker = Broker()
    broker.refuse = True
    publisher = make(broker)
    publisher.publish(batch(1, fault()))
    await settle()
    broker.refuse = False
    publisher.publish(batch(2, fault()))
    assert await publisher.close(1) == 0
    assert publisher.counts.refused == 1
    assert [b.seq for b in broker.batches()] == [2]


async def test_close_gives_up_after_its_grace_and_says_what_is_left():
    broker = Broker()
    broker.away = True
    publisher = Publisher(broker, source="agent/h")
    publisher.publish(batch(1, fault()))
    assert await publisher.close(0.05) == 1
    with pytest.raises(RuntimeError, match="closed"):
        publisher.publish(batch(2))


async def test_what_is_wrong_with_the_world_crashes():
    class Broken(Broker):
        async def send(self, topic, *, key, value, headers=()):
            raise ZeroDivisionError

    publisher = make(Broken())
    publisher.publish(batch(1, fault()))
    await settle()
    with pytest.raises(ZeroDivisionError):
        publisher.publish(batch(2, fault()))


async def test_a_delta_that_comes_after_its_full_sample_was_dropped_goes_too():
    broker, clock = Broker(), Clock()
    broker.away = True
    publisher = make(broker, clock)
    publisher.publish(batch(1, sample(full=True)))
    publisher.publish(batch(2, sample(full=False)))
    clock.now = 301
    publisher.publish(batch(3, fault()))
    assert publisher.wants_full("n1")
    publisher.publish(batch(4, sample(full=False), fault()))
    publisher.publish(batch(5, sample(full=True)))
    broker.away = False
    await publisher.close(5)
    assert [(b.seq, [o.kind for o in b.observations]) for b in broker.batches()] == [
        (3, ["kernel"]),
        (4, ["kernel"]),
        (5, ["sample"]),
    ]
