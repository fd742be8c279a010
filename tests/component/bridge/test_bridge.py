"""The bridge as a process, on a real Kafka and a real Temporal: in order, nothing lost, nobody held up."""

from __future__ import annotations

import asyncio

import pytest

from gpuward.contracts.envelope import REROUTED
from gpuward.contracts.topics import DEAD_LETTERS, DIRECTIVES, FAULTS, PARKED, TOPICS
from gpuward.runtime.kafka import Outgoing
from tests.component.bridge.driving import Drive, fault, fresh, once

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_in_order_per_entity_and_missing_actors_are_started(drive: Drive) -> None:
    nodes = [fresh() for _ in range(10)]
    domain, rack = fresh("domain"), fresh("rack")
    await drive.publish(*((node, n) for n in range(40) for node in nodes))
    await drive.publish((domain, 0), (domain, 1), rack=rack.name)
    bridge = await drive.bridge()
    async with drive.worker():
        for node in nodes:
            assert await drive.sees(node, 40) == list(range(40))
        assert await drive.sees(rack, 2) == [0, 1], "the rack speaks for its NVLink domain"
    signals = await bridge.metric("gpuward_bridge_signals_total")
    assert signals < 120, f"402 records that wait together travel together, not in {signals} signals"
    assert await bridge.answers("healthz")
    assert await bridge.stop() == 0
    again = await drive.bridge()
    await drive.publish((nodes[0], 40))
    async with drive.worker():
        assert await drive.sees(nodes[0], 41) == list(range(41)), "what was committed does not come again"
    assert await again.metric("gpuward_bridge_records_total") == 1


@pytest.mark.parametrize("point", ["signal acknowledged:7", "offset committed:2"])
async def test_killed_at_a_failpoint_nothing_is_lost_and_order_holds(drive: Drive, point: str) -> None:
    nodes = [fresh() for _ in range(4)]
    killed = await drive.bridge(GPUWARD_FAILPOINT=point)

    async def publish() -> None:
        for n in range(60):
            await drive.publish(*((node, n) for node in nodes))
            await asyncio.sleep(0.02)

    publishing = asyncio.ensure_future(publish())
    assert await killed.ended() == -9
    async with drive.worker():
        await drive.bridge()
        await publishing
        for node in nodes:
            told = await drive.sees(node, 60)
            assert once(told) == list(range(60))


async def test_temporal_away_for_a_while(drive: Drive) -> None:
    node, other = fresh(), fresh()
    bridge = await drive.bridge()
    await drive.publish((node, 0))
    async with drive.worker():
        assert await drive.sees(node, 1) == [0]
    await drive.stack.temporal.kill()
    await drive.publish(*((entity, n) for n in range(1, 1500) for entity in (node, other)))
    await asyncio.sleep(2)
    await drive.stack.temporal.start()
    async with drive.worker():
        assert once(await drive.sees(node, 1500)) == list(range(1500))
        assert once(await drive.sees(other, 1499)) == list(range(1, 1500))
    assert await bridge.metric("gpuward_bridge_parked_total") == 0
    assert "waiting it out" in bridge.log or await bridge.answers("healthz")


async def test_a_flooded_entity_is_parked_and_redriven_in_order(drive: Drive) -> None:
    flooded, other = fresh(), fresh()
    bridge = await drive.bridge(GPUWARD_BRIDGE_SIGNAL_LIMIT="20")
    await drive.publish(*((flooded, n) for n in range(40)), (other, 39), padding=9000)  # too large to travel together
    await bridge.shows("gpuward_bridge_parked_total", 20)
    assert '"level": "error"' in bridge.log, "parking alarms"
    assert len(await drive.records(PARKED, flooded.encode())) == 20
    assert await bridge.stop() == 0
    again = await drive.bridge(GPUWARD_BRIDGE_SIGNAL_LIMIT="20")  # which entities are parked is known from the log
    await drive.publish((flooded, 40), (other, 40))
    await again.shows("gpuward_bridge_parked_total", 1)
    async with drive.worker():
        assert await drive.sees(other, 2) == [39, 40], "nobody else is held up"
        assert once(await drive.sees(flooded, 41)) == list(range(41))
        await drive.publish((flooded, 41))
        assert once(await drive.sees(flooded, 42)) == list(range(42))


async def test_a_run_that_takes_no_more_signals_parks(drive: Drive) -> None:
    """The server's own limit, 60 a run here: INVALID_ARGUMENT, which the SDK does not retry."""
    node = fresh()
    bridge = await drive.bridge()
    await drive.publish(*((node, n) for n in range(70)), padding=9000)
    await bridge.shows("gpuward_bridge_parked_total", 10)
    assert "limit for signal events" in bridge.log
    parked = await drive.records(PARKED, node.encode())
    assert len(parked) == 10
    await drive.client.get_workflow_handle(str(node)).terminate()
    async with drive.worker():
        assert await drive.sees(node, 10) == list(range(60, 70)), "a new run takes the rest"


async def test_two_bridges_share_and_hand_over(drive: Drive) -> None:
    nodes = [fresh() for _ in range(16)]
    first = await drive.bridge()
    enough = asyncio.Event()

    async def publish() -> int:
        n = 0
        while not enough.is_set():
            await drive.publish(*((node, n) for node in nodes))
            n += 1
            await asyncio.sleep(0.05)
        return n

    async with drive.worker():
        publishing = asyncio.ensure_future(publish())
        second = await drive.bridge()
        await second.shows("gpuward_bridge_records_total", 50)
        assert await first.stop() == 0
        before = await second.metric("gpuward_bridge_records_total")
        await second.shows("gpuward_bridge_records_total", before + 100)
        enough.set()
        count = await publishing
        for node in nodes:
            told = await drive.sees(node, count)
            assert once(told) == list(range(count))
            late = any("handed over with sends unanswered" in bridge.log for bridge in (first, second))
            assert late or told == list(range(count)), "clean hand-overs repeat nothing"


async def test_garbage_is_a_dead_letter_and_stops_nobody(drive: Drive) -> None:
    node = fresh()
    key = node.encode()
    bridge = await drive.bridge()
    huge = b"[" + b"1," * 400_000
    garbage = [b'{"kind": "fault", "pha', b"\xff\x00", b"{}", fault("node/other", 1), fault(node, 2)[:-1], huge]
    await drive.producer.send_all([Outgoing(FAULTS, key, value) for value in (*garbage, None)])
    await drive.producer.send_all([Outgoing(DIRECTIVES, key, b'{"kind": "directive", "order": "explode"}')])
    await drive.producer.send_all([Outgoing(FAULTS, b"", b"{}"), Outgoing(FAULTS, b"nonsense", b"{}")])
    await drive.publish((node, 3))
    async with drive.worker():
        assert await drive.sees(node, 1) == [3]
    await bridge.shows("gpuward_bridge_records_total", 11)
    letters = await drive.records(DEAD_LETTERS, key)
    assert len(letters) == 8
    assert all(dict(letter.headers)["gpuward-dead-detail"] for letter in letters)


async def test_a_record_on_the_wrong_partition_is_rerouted_once(drive: Drive) -> None:
    node = fresh()
    bridge = await drive.bridge()
    row = TOPICS[FAULTS]
    wrong = (row.partition(node.encode()) + 1) % row.partitions
    for n in range(3):
        await drive.producer.send(FAULTS, key=node.encode(), value=fault(node, n), partition=wrong)
    async with drive.worker():
        assert await drive.sees(node, 3) == [0, 1, 2]
    assert await bridge.metric("gpuward_streams_rerouted_total") == 3
    moved = [record for record in await drive.records(FAULTS, node.encode()) if REROUTED in dict(record.headers)]
    assert [record.partition for record in moved] == [row.partition(node.encode())] * 3
