"""The stream worker over a real Kafka: a batch in, a fault out, and what becomes of everything that is wrong."""

from __future__ import annotations

import pytest
import pytest_asyncio

from gpuward.contracts.envelope import REROUTED
from gpuward.contracts.identity import NodeId
from gpuward.contracts.inventory import InventoryChanged
from gpuward.contracts.topics import DEAD_LETTERS, INVENTORY, INVENTORY_CHANGES, OBSERVATIONS, TOPICS
from tests.component.streams.feeding import Told, Worker, producing, send
from tests.unit.streams.making import at, batch, gpu, inventory, sample, xid

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker(settings, tmp_path_factory):
    async with Worker(settings, tmp_path_factory.mktemp("log") / "worker.log") as running:
        yield running
        assert await running.stop() == 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def producer(settings):
    async with producing(settings) as running:
        yield running


async def test_a_batch_in_is_a_fault_out_with_the_offset_of_its_evidence(worker, settings, producer):
    node = NodeId("one")
    await send(producer, batch(sample(0), node=node))
    partition, offset = await send(producer, batch(xid(79, 1), node=node))
    async with Told(settings) as told:
        await told.until(lambda told: told.of(node))
        (fault,) = told.of(node)
        headers = dict(told.records[-1].headers)
    assert (fault.evidence[0].topic, fault.evidence[0].partition, fault.evidence[0].offset) == (
        OBSERVATIONS,
        partition,
        offset,
    )
    assert fault.verdict.remedy == "reboot_node"
    assert headers["ce_type"] == b"gpuward.fault.raised"


async def test_inventory_births_node_rack_and_gpus_and_seats_the_faults(worker, settings, producer):
    node = NodeId("seated")
    record = inventory().model_copy(update={"node": node})
    await producer.send(INVENTORY, key=record.key.encode(), value=record.to_json())
    async with Told(settings, INVENTORY_CHANGES) as told:
        await told.until(lambda told: len(told.records) >= 4)
        changes = [InventoryChanged.model_validate_json(one.value) for one in told.records]
    assert {str(one.entity) for one in changes} >= {f"node/{node}", "rack/r1", f"gpu/{gpu(0)}", f"gpu/{gpu(1)}"}
    await send(producer, batch(xid(48, 1), node=node))
    async with Told(settings) as told:
        await told.until(lambda told: told.of(node))
        assert told.of(node)[0].seat.rack == "r1"


@pytest.mark.parametrize(
    ("topic", "value", "reason"),
    [
        (OBSERVATIONS, b'{"node": "broken", "boot', b"unreadable"),
        (OBSERVATIONS, b'{"node": "broken", "boot_id": 7, "seq": "x", "time": "never"}', b"unreadable"),
        (OBSERVATIONS, b'{"node": "other", "boot_id": "b", "seq": 1, "time": 1}', b"misaddressed"),
        (INVENTORY, b"[]", b"unreadable"),
    ],
)
async def test_garbage_becomes_a_dead_letter_with_its_reason_and_nothing_stops(
    worker, settings, producer, topic, value, reason
):
    partition, offset = await producer.send(topic, key=b"broken", value=value)

    def letters(told: Told) -> list:
        return [
            one
            for one in told.records
            if (dict(one.headers)["gpuward-dead-topic"], dict(one.headers)["gpuward-dead-offset"])
            == (topic.encode(), str(offset).encode())
            and dict(one.headers)["gpuward-dead-partition"] == str(partition).encode()
        ]

    async with Told(settings, DEAD_LETTERS) as told:
        await told.until(letters)
        assert letters(told)[0].value == value
        assert dict(letters(told)[0].headers)["gpuward-dead-reason"] == reason


async def test_an_unknown_kind_and_unknown_fields_are_kept_and_hurt_nobody(worker, settings, producer):
    node = NodeId("future")
    value = batch(xid(79, 1), node=node).to_json().replace(b'"observations":[', b'"tomorrow":1,"observations":['
        b'{"kind":"dreamt","id":"d1","time":"2026-03-01T00:00:00Z","of":[1,2]},')  # fmt: skip
    await producer.send(OBSERVATIONS, key=node.encode(), value=value)
    async with Told(settings) as told:
        await told.until(lambda told: told.of(node))


async def test_a_record_on_the_wrong_partition_is_re_routed_once(worker, settings, producer):
    node = NodeId("stray")
    home = TOPICS[OBSERVATIONS].partition(node.encode())
    await send(producer, batch(xid(79, 1), node=node), partition=(home + 1) % 8)
    async with Told(settings) as told:
        await told.until(lambda told: told.of(node))
        (fault,) = told.of(node)
    assert fault.evidence[0].partition == home
    async with Told(settings, OBSERVATIONS) as told:
        await told.until(lambda told: any(one.key == node.encode() and one.partition == home for one in told.records))
        moved = [one for one in told.records if one.key == node.encode() and one.partition == home]
    assert [dict(one.headers)[REROUTED] for one in moved] == [str((home + 1) % 8).encode()]


async def test_a_storm_of_45_is_silence(worker, settings, producer):
    node = NodeId("jobs")
    await send(producer, batch(sample(0), node=node))
    for chunk in range(20):
        lines = [xid(45, 1 + chunk, seq=chunk * 1000 + i, device=i % 2) for i in range(1000)]
        await send(producer, batch(*lines, node=node))
    await send(producer, batch(xid(79, 30, seq=30_000), node=node))
    async with Told(settings) as told:
        await told.until(lambda told: told.of(node))
        assert [fault.fault_class for fault in told.of(node)] == ["gpu.xid.79"]


async def test_many_silent_nodes_of_a_rack_are_one_rack_fault_and_are_heard_again(worker, settings, producer):
    """Twelve nodes of one partition; three of them stop."""
    row = TOPICS[OBSERVATIONS]
    names = [name for i in range(400) if row.partition((name := f"quiet-{i}").encode()) == 5][:12]
    for name in names:
        record = inventory(rack="quiet-rack", gpus=0).model_copy(update={"node": NodeId(name)})
        await producer.send(INVENTORY, key=record.key.encode(), value=record.to_json())
    later = at(100_000)
    for step in range(15):
        for number, name in enumerate(names):
            if number >= 3 or step < 2:
                seconds = (later - at(0)).total_seconds() + 10 * step
                await send(producer, batch(sample(seconds), node=NodeId(name)))
    async with Told(settings) as told:
        await told.until(lambda told: any(fault.fault_class == "rack.nodes_silent" for fault in told.faults()))
        silent = {fault.seat.node for fault in told.faults() if fault.fault_class == "node.silent"}
        assert silent >= set(names[:3])
        await told.until(
            lambda told: len([f for f in told.faults() if f.fault_class == "rack.nodes_silent"][-1].children) >= 3
        )
        for name in names[:3]:
            await send(producer, batch(sample((later - at(0)).total_seconds() + 200), node=NodeId(name)))
        await told.until(
            lambda told: any(
                fault.fault_class == "rack.nodes_silent" and fault.phase == "cleared" for fault in told.faults()
            )
        )
