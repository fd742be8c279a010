"""The collector beside the world: one request per round, ids that survive a restart, silence where a node is silent."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from gpuward.contracts.errors import Transient
from gpuward.contracts.observations import GpuMapped, NodeSample, XidLogged
from ingest.collectors.protocol import KernelLine
from ingest.collectors.simulated import SimulatedFeed
from ingest.node_feed import NodeFeed
from tests.component.simulator.running import eventually

NODE = "r01-n01"


@pytest.fixture
def feed(door):
    feed = SimulatedFeed(door.url)
    yield feed
    feed.close()


async def sources(feed):
    return {source.node: source for source in await asyncio.to_thread(feed.sources)}


async def read(source):
    def ask():
        return source.boot_id(), source.inventory(), list(source.poll())

    return await asyncio.to_thread(ask)


def observed(node, boot_id, seen):
    [batch] = NodeFeed(node).batches(seen, boot_id=boot_id, now=datetime.now(UTC))
    return list(batch.observations)


async def test_every_node_tells_what_stands_where(door, feed) -> None:
    found = await sources(feed)
    assert len(found) == 4
    host = await door.client.host(NODE)
    boot_id, inventory, _ = await read(found[NODE])
    assert boot_id == inventory.boot_id == host.boot_id
    assert inventory.rack == "r01"
    assert inventory.address.smbios_uuid == host.smbios_uuid
    assert (await door.client.bmc(inventory.address.bmc)).system_uuid == host.smbios_uuid
    assert [(gpu.gpu, gpu.slot) for gpu in inventory.gpus] == [(gpu.uuid, gpu.slot) for gpu in host.gpus]


async def test_lines_and_samples_become_observations(door, feed) -> None:
    source = (await sources(feed))[NODE]
    boot_id, _, seen = await read(source)
    first = observed(NODE, boot_id, seen)
    assert sum(isinstance(each, GpuMapped) for each in first) == 8
    assert isinstance(first[-1], NodeSample)
    assert first[-1].columns["missing"] == [False] * 8

    await door.client.inject(node=NODE, gpu=5, code=79)
    _, _, seen = await read(source)
    assert all(isinstance(each, KernelLine | NodeSample) for each in seen)
    xid, sample = observed(NODE, boot_id, seen)
    assert isinstance(xid, XidLogged)
    assert (xid.code, xid.device, xid.boot_id) == (79, "0000:c3:00.0", boot_id)
    assert sample.columns["missing"].index(True) == 5
    assert sample.columns["recovery_action"][5] is None


async def test_a_restarted_agent_reads_the_same_ids(door, feed) -> None:
    await door.client.inject(node=NODE, gpu=0, fault="dram")
    boot_id, _, seen = await read((await sources(feed))[NODE])
    again = SimulatedFeed(door.url)
    _, _, twice = await read((await sources(again))[NODE])
    again.close()
    discrete = [[each.id for each in observed(NODE, boot_id, lines) if each.sequence] for lines in (seen, twice)]
    assert discrete[0] == discrete[1]
    assert len(discrete[0]) >= 11


async def test_one_request_serves_a_round(door, feed, monkeypatch) -> None:
    asked = []
    original = feed._ask
    monkeypatch.setattr(
        feed, "_ask", lambda method, path, body=None: (asked.append(path), original(method, path, body))[1]
    )
    found = await sources(feed)
    for _ in range(3):
        await asyncio.gather(*(read(source) for source in found.values()))
    assert asked.count("/poll") == 3


async def test_a_silent_node_says_nothing_then_catches_up(door, feed) -> None:
    found = await sources(feed)
    await read(found[NODE])
    await door.client.misbehave(NODE, "silent")
    await door.client.inject(node=NODE, code=31)
    with pytest.raises(Transient, match="says nothing"):
        await read(found[NODE])
    await read(found["r01-n02"])
    await door.client.misbehave(NODE, "behave")
    _, _, seen = await read(found[NODE])
    assert [line.text for line in seen if isinstance(line, KernelLine)][-1].startswith("NVRM: Xid")


async def test_a_reboot_brings_the_last_words_of_the_old_boot_and_the_first_of_the_new(door, feed) -> None:
    source = (await sources(feed))[NODE]
    before, _, _ = await read(source)
    await door.client.act(NODE, "reboot")

    async def rebooted():
        try:
            return (await door.client.host(NODE)).boot_id != before
        except Transient:
            return False

    await eventually(rebooted)
    after, inventory, seen = await read(source)
    boots = [line.boot_id for line in seen if isinstance(line, KernelLine)]
    assert after == inventory.boot_id != before
    assert boots[0] == before
    assert boots[-1] == after
    assert next(line.sequence for line in seen if isinstance(line, KernelLine) and line.boot_id == after) == 0


async def test_a_world_that_is_away_is_transient() -> None:
    feed = SimulatedFeed("http://127.0.0.1:9", timeout_s=1)
    with pytest.raises(Transient, match="did not answer"):
        await asyncio.to_thread(feed.sources)
    feed.close()
