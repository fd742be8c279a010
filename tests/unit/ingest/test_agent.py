from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

from gpuward.contracts.errors import Transient
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import NodeSample, XidLogged
from ingest.agent import Agent
from ingest.collectors.protocol import KernelLine
from ingest.node_feed import MOST_PER_BATCH, NodeFeed

NOW = datetime(2026, 1, 2, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


class Sink:
    def __init__(self) -> None:
        self.batches: list = []
        self.inventories: list = []
        self.full: set[str] = set()

    def publish(self, batch):
        self.batches.append(batch)

    def publish_inventory(self, inventory):
        self.inventories.append(inventory)

    def wants_full(self, node):
        return node in self.full


class Source:
    def __init__(self, node: str) -> None:
        self.node = node
        self.boot = "b1"
        self.labels: dict[str, str] = {}
        self.raises: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.seen: list = []
        self.polls = 0

    def boot_id(self):
        return self.boot

    def inventory(self):
        return NodeInventory(node=self.node, source="sim", time=datetime.now(UTC), labels=self.labels)

    def poll(self):
        self.polls += 1
        self.gate.wait(5)
        if self.raises:
            raise self.raises
        seen, self.seen = self.seen, []
        return seen


def agent(sink: Sink, *sources: Source, limit_s: float = 1.0) -> Agent:
    return Agent(sources, sink, clock=lambda: NOW, limit_s=limit_s, tick_s=0.01)


async def test_one_batch_per_node_and_tick_empty_ones_too():
    sink = Sink()
    both = agent(sink, Source("n1"), Source("n2"))
    await both.tick()
    await both.tick()
    assert sorted((b.node, b.seq, b.boot_id, len(b.observations)) for b in sink.batches) == [
        ("n1", 1, "b1", 0), ("n1", 2, "b1", 0), ("n2", 1, "b1", 0), ("n2", 2, "b1", 0),
    ]  # fmt: skip


async def test_inventory_goes_out_at_start_and_when_it_changed():
    sink, source = Sink(), Source("n1")
    one = agent(sink, source)
    for _ in range(3):
        await one.tick()
    source.boot = "b2"
    await one.tick()
    source.labels = {"rack": "r1"}
    await one.tick()
    assert [(i.boot_id, i.labels) for i in sink.inventories] == [("b1", {}), ("b2", {}), ("b2", {"rack": "r1"})]
    assert [b.seq for b in sink.batches] == [1, 2, 3, 1, 2]


async def test_kernel_lines_go_through_the_normaliser_and_repeats_collapse():
    sink, source = Sink(), Source("n1")
    source.seen = [KernelLine(n, "b1", XID, NOW) for n in (7, 8, 9)]
    await agent(sink, source).tick()
    (seen,) = sink.batches[0].observations
    assert isinstance(seen, XidLogged)
    assert (seen.code, seen.count, seen.sequence, seen.time, seen.boot_id) == (79, 3, (7, 9), NOW, "b1")


async def test_messages_of_several_lines_may_span_ticks_and_boots_stay_apart():
    sink, source = Sink(), Source("n1")
    one = agent(sink, source)
    source.seen = [KernelLine(1, "b1", "NVRM: The NVIDIA GPU 0000:af:00.0", NOW)]
    await one.tick()
    tail = "NVRM: fallen off the bus and is not responding to commands."
    source.seen = [KernelLine(2, "b2", tail, NOW), KernelLine(2, "b1", tail, NOW)]
    await one.tick()
    assert [(o.boot_id, o.device) for o in sink.batches[1].observations] == [("b2", None), ("b1", "0000:af:00.0")]


async def test_a_source_that_hangs_stops_no_other_and_is_told_once():
    sink, hung, well = Sink(), Source("hung"), Source("well")
    hung.gate.clear()
    both = agent(sink, hung, well, limit_s=0.05)
    for _ in range(3):
        await both.tick()
    assert hung.polls == 1
    assert [b.seq for b in sink.batches if b.node == "well"] == [1, 2, 3]
    (told,) = [b for b in sink.batches if b.node == "hung"]
    assert [(o.kind, o.reason) for o in told.observations] == [("collector_failed", "stalled")]
    hung.seen = [KernelLine(1, "b1", XID, NOW)]
    hung.gate.set()
    await asyncio.sleep(0.05)
    await both.tick()
    assert [o.kind for o in sink.batches[-2].observations + sink.batches[-1].observations] == ["xid"]


async def test_a_source_that_raises_is_told_once_and_polled_again():
    sink, source = Sink(), Source("n1")
    one = agent(sink, source)
    source.raises = ValueError("bad register")
    for _ in range(3):
        await one.tick()
    source.raises = None
    await one.tick()
    assert source.polls == 4
    assert [[o.kind for o in b.observations] for b in sink.batches] == [["collector_failed"], []]
    assert sink.batches[0].observations[0].error == "ValueError: bad register"


async def test_a_node_that_cannot_be_reached_is_silent():
    sink, source = Sink(), Source("n1")
    source.raises = Transient("powered off")
    await agent(sink, source).tick()
    assert sink.batches == []


async def test_samples_leave_as_deltas_until_the_sink_wants_a_full_one():
    sink, source = Sink(), Source("n1")
    one = agent(sink, source)
    for at in range(3):
        time = NOW + timedelta(seconds=at)
        source.seen = [NodeSample(id=str(at), time=time, full=True, columns={"session": ["a"]})]
        sink.full = {"n1"} if at == 2 else set()
        await one.tick()
    assert [b.observations[0].full for b in sink.batches] == [True, False, True]
    assert sink.batches[1].observations[0].columns == {}


async def test_run_ends_when_it_is_told():
    sink, stop = Sink(), asyncio.Event()
    task = asyncio.create_task(agent(sink, Source("n1")).run(stop))
    await asyncio.sleep(0.2)
    stop.set()
    await asyncio.wait_for(task, 1)
    assert len(sink.batches) >= 3


def test_a_flood_leaves_in_batches_of_bounded_size():
    lines = [KernelLine(n, "b", f"NVRM: Xid (PCI:0000:3b:00): 45, Ch {n:08x}", NOW) for n in range(MOST_PER_BATCH + 1)]
    batches = NodeFeed("n1").batches(lines, boot_id="b", now=NOW)
    assert [(b.seq, len(b.observations)) for b in batches] == [(1, MOST_PER_BATCH), (2, 1)]
