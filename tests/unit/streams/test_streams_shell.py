"""The shell around the rules: what is acknowledged before what is written, what crashes, where reading begins."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest
from faust.types import TP

from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import NodeId
from gpuward.contracts.topics import DEAD_LETTERS, FAULTS, OBSERVATIONS, TOPICS
from gpuward.runtime.settings import Settings
from streams.agents.contiguity import Contiguity
from streams.agents.detector import Detector, Rules
from streams.agents.publish import Publisher
from streams.agents.record import Record
from streams.agents.rewind import Rewind
from streams.agents.store import Views
from streams.agents.supervised import Supervised
from streams.agents.watchdog import Watchdog
from streams.dead_letters import DeadLetters
from tests.unit.streams.making import batch, classifier, sample, xid

NODE = NodeId("n1")
HOME = TOPICS[OBSERVATIONS].partition(NODE.encode())


class Kafka:
    """Remembers what was sent and written, in order; `away` refuses."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.kept: dict[tuple[int, bytes], bytes] = {}
        self.away = False

    async def send(self, topic, *, key, value, headers=(), partition=None):
        await asyncio.sleep(0)
        if self.away:
            raise Transient("away")
        self.log.append(("sent", topic))
        return 0, len(self.log)

    def get(self, partition, key):
        return self.kept.get((partition, key))

    def put(self, partition, key, value):
        self.log.append(("written", key.decode()))
        self.kept[partition, key] = value


def detector(kafka: Kafka) -> Detector:
    rules = Rules(classify=classifier(), pools={"default": {}})
    return Detector(Views(kafka), Publisher(kafka, "test"), DeadLetters(kafka), rules)


def record(value: bytes, offset: int = 0, partition: int = HOME, key: bytes = NODE.encode(), headers=()) -> Record:
    return Record(OBSERVATIONS, partition, offset, key, value, headers)


async def test_a_fault_is_acknowledged_before_the_view_is_written():
    kafka = Kafka()
    await detector(kafka)([record(batch(xid(79, 1)).to_json())])
    assert kafka.log[:2] == [("sent", FAULTS), ("written", "n1")]


async def test_while_kafka_is_away_no_view_is_written_and_the_next_process_tells_the_same_fault():
    kafka = Kafka()
    kafka.away = True
    with pytest.raises(Transient):
        await detector(kafka)([record(batch(xid(79, 1)).to_json())])
    assert kafka.kept == {}
    kafka.away = False
    await detector(kafka)([record(batch(xid(79, 1)).to_json())])
    assert ("sent", FAULTS) in kafka.log


async def test_what_was_written_is_not_told_again_by_the_next_process():
    kafka = Kafka()
    first = [record(batch(sample(0)).to_json(), 0), record(batch(xid(79, 1)).to_json(), 1)]
    await detector(kafka)(first)
    told = kafka.log.count(("sent", FAULTS))
    await detector(kafka)(first)
    assert kafka.log.count(("sent", FAULTS)) == told


async def test_one_bad_record_among_good_ones_is_a_dead_letter_and_the_rest_goes_on():
    kafka = Kafka()
    await detector(kafka)([record(b"{", 0), record(batch(xid(79, 1)).to_json(), 1)])
    assert {topic for what, topic in kafka.log if what == "sent"} == {DEAD_LETTERS, FAULTS}


async def test_a_stray_is_re_routed_once_and_buried_the_second_time():
    kafka = Kafka()
    stray = (HOME + 1) % 8
    await detector(kafka)([record(batch(xid(79, 1)).to_json(), partition=stray)])
    assert kafka.log[0] == ("sent", OBSERVATIONS)
    marked = record(batch(xid(79, 1)).to_json(), partition=stray, headers=[("gpuward-rerouted", b"3")])
    await detector(kafka)([marked])
    assert ("sent", DEAD_LETTERS) in kafka.log


async def test_the_world_s_fault_crashes_and_the_record_never_counts_as_done():
    supervised = Supervised()

    async def body(records):
        raise OSError("disk")

    task = asyncio.create_task(supervised(body, [record(b"")]))
    assert isinstance(await supervised.crashed, OSError)
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()


async def test_a_gap_crashes_a_rewind_does_not_and_a_gap_at_the_log_start_is_passed():
    start = 0

    async def log_start(topic, partition):
        return start

    contiguity = Contiguity(OBSERVATIONS, log_start)
    contiguity.begin(0, 5)
    for offset in (5, 6, 2, 3, 4, 5, 6, 7):
        await contiguity.check(0, offset)
    with pytest.raises(Transient, match="9 came where 8 was due"):
        await contiguity.check(0, 9)
    start = 12
    await contiguity.check(0, 12)
    assert contiguity.next_of(OBSERVATIONS, 0) == 13


class Consumer:
    def __init__(self, starts: int, by_time: int | None) -> None:
        self._starts, self._by_time = starts, by_time

    async def log_starts(self, places):
        return dict.fromkeys(places, self._starts)

    async def offsets_for_times(self, times):
        return dict.fromkeys(times, self._by_time)


@pytest.mark.parametrize(
    ("start", "committed", "place", "by_time", "target"),
    [
        (0, None, None, None, 0),
        (0, 10_000, None, None, 8_000),
        (0, 10_000, (200_000, 9_900), 7_000, 7_000),
        (0, 10_000, (200_000, 5_000), 9_000, 5_000),
        (9_500, 10_000, (200_000, 9_900), 9_700, 9_500),
    ],
)
async def test_reading_begins_before_what_was_committed(start, committed, place, by_time, target):
    async def log_start(topic, partition):
        return start

    rewind = Rewind(Consumer(start, by_time), Settings(), lambda _: place, Contiguity(OBSERVATIONS, log_start))
    assert await rewind({TP(OBSERVATIONS, 0): committed}) == {TP(OBSERVATIONS, 0): target}


class Stuck:
    """An application whose one partition has work left and commits nothing."""

    rebalancing = False

    class tables:  # noqa: N801
        class recovery:  # noqa: N801
            completed = asyncio.Event()

    class consumer:  # noqa: N801
        _committed_offset: ClassVar = {TP(OBSERVATIONS, 0): 10}

        @staticmethod
        def assignment():
            return {TP(OBSERVATIONS, 0)}

        @staticmethod
        def _is_changelog_tp(_):
            return False

        @staticmethod
        def highwater(_):
            return 50


def test_a_worker_that_looks_alive_and_commits_nothing_is_ended():
    Stuck.tables.recovery.completed.set()
    watchdog = Watchdog(Stuck, stuck_s=100)
    watchdog.look(0)
    watchdog.look(99)
    with pytest.raises(Transient, match="40 records wait"):
        watchdog.look(101)


def test_one_that_is_still_reading_again_is_not_stuck():
    Stuck.tables.recovery.completed.set()
    watchdog = Watchdog(Stuck, lambda *_: 5, stuck_s=100)
    watchdog.look(0)
    watchdog.look(1000)
