"""The projector over a real Kafka: what it writes, what it puts aside, and that killing it anywhere loses nothing."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys

import pytest

from gpuward.console.fold import fold
from gpuward.console.projector import body
from gpuward.console.unreadable import described
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.envelope import Envelope
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.outcomes import Outcome, OutcomeKind
from gpuward.contracts.topics import DEAD_LETTERS, ENTITIES, INVENTORY, INVENTORY_CHANGES, OUTCOMES
from gpuward.local.children import Child
from gpuward.runtime.health import Health
from gpuward.runtime.kafka import Producer, consumer
from gpuward.runtime.records import Records
from tests.unit.console.telling import GPU, START, closed, edge, inventory, opened, outcome, seat, stands, uuid

pytestmark = pytest.mark.asyncio(loop_scope="module")


def headers(kind: str) -> list[tuple[str, bytes]]:
    return Envelope(id="x", type=kind, source="test", time=START).to_headers()


async def tell(producer, *items: Outcome) -> None:
    for item in items:
        await producer.send(
            OUTCOMES, key=str(item.entity).encode(), value=item.to_json(), headers=headers(item.event_type)
        )


async def until(settings, holds, seconds: float = 40):
    """The records once they are as wanted; there is nothing to wait on but another look."""
    records = Records(settings.records)
    records.create()
    try:
        async with asyncio.timeout(seconds):
            while not (found := await holds(records)):
                await asyncio.sleep(0.05)
            return found
    finally:
        records.close()


async def _said(answer: bool) -> bool:
    return answer


async def read_all(settings, topic):
    reader = consumer(settings, "test", topic)
    await reader.start()
    try:
        ends = await reader.end_offsets(reader.assignment())
        found = []
        while any([await reader.position(place) < end for place, end in ends.items()]):
            for part in (await reader.getmany(timeout_ms=500)).values():
                found += part
        return found
    finally:
        await reader.stop()


@pytest.fixture
async def own(settings, tmp_path):
    """The running stack with records of this test's own."""
    return settings.model_copy(update={"records_url": f"sqlite:///{tmp_path / 'records.sqlite'}"})


async def running(settings):
    health, stop = Health(), asyncio.Event()
    task = asyncio.create_task(body(settings, health, stop))
    return task, health, stop


async def test_it_folds_ledger_and_inventory_and_puts_garbage_aside(own):
    story = [opened(1), edge(2, "healthy", "failed", checkpoint={"n": 2}), closed(3)]
    async with Producer(own, "test") as producer:
        await tell(producer, story[0])
        for garbage in (b"{", b'{"entity": 7}', b"\xff\xfe", b'"text"'):
            await producer.send(OUTCOMES, key=str(GPU).encode(), value=garbage)
        await tell(producer, *story[1:])
        node = inventory()
        await producer.send(INVENTORY, key=node.key.encode(), value=node.to_json(), headers=headers("i"))
        where = stands(GPU, seat(epoch=100))
        await producer.send(INVENTORY_CHANGES, key=str(GPU).encode(), value=where.to_json(), headers=headers("c"))
    task, health, stop = await running(own)

    async def done(records):
        found = await records.entity(GPU)
        return found if found and found.seat_epoch and found.summary == "repaired" else None

    record = await until(own, done)
    assert (record.lifecycle, record.state, record.node) == ("failed", {"n": 2}, "r01-n01")
    await until(own, lambda _: _said(health.ready and not health.problems()))
    stop.set()
    await task
    newest = {r.key: r.value for r in await read_all(own, ENTITIES)}
    assert EntityRecord.model_validate_json(newest[str(GPU).encode()]) == record
    letters = await read_all(own, DEAD_LETTERS)
    assert sorted(r.value for r in letters) == sorted([b"{", b'{"entity": 7}', b"\xff\xfe", b'"text"'])
    assert {described(r)["topic"] for r in letters} == {OUTCOMES}


async def test_after_a_restart_it_reads_on_where_it_stopped(own):
    first, second = Entity.gpu(uuid(1)), Entity.gpu(uuid(2))
    async with Producer(own, "test") as producer:
        await tell(producer, opened(1, entity=first))
        task, _, stop = await running(own)
        await until(own, lambda records: records.entity(first))
        stop.set()
        await task
        await tell(producer, opened(1, entity=second))
    task, _, stop = await running(own)
    await until(own, lambda records: records.entity(second))
    stop.set()
    await task


async def test_killed_again_and_again_it_ends_with_what_the_ledger_says(settings, tmp_path):
    """kill -9 at any moment: the records are the fold of the whole ledger, and every entity is in the compacted topic."""
    url = f"sqlite:///{tmp_path / 'records.sqlite'}"
    own = settings.model_copy(update={"records_url": url})
    gpus = [Entity.gpu(uuid(1000 + number)) for number in range(20)]
    told = [
        edge(step, "a", f"s{step}", entity=gpu, checkpoint={"step": step})
        if step % 3
        else outcome(step, OutcomeKind.DECISION, entity=gpu, name="d", text=f"decision {step}")
        for step in range(60)
        for gpu in gpus
    ]
    dice = random.Random(7)
    command = [sys.executable, "-m", "gpuward", "projector", "--data", str(settings.data)]
    env = {**os.environ, "GPUWARD_RECORDS_URL": url}
    child = None
    async with Producer(own, "test") as producer:
        for part in range(4):
            child = Child.start("projector", command, log=tmp_path / f"projector{part}.log", env=env)
            share = told[part * 300 : (part + 1) * 300]
            # An append whose acknowledgement was lost comes twice.
            await asyncio.gather(*(tell(producer, *[o for o in share if o.entity == gpu] * 2) for gpu in gpus))
            if part == 3:
                break
            wanted = gpus[dice.randrange(20)]
            await until(own, lambda records, wanted=wanted: records.entity(wanted))
            await asyncio.sleep(dice.random() * 0.3)
            await child.kill()
            assert await child.wait() == -signal.SIGKILL
    expected = fold({}, told)

    async def whole(records):
        found = {record.entity: record for record in await records.entities(EntityKind.GPU)}
        return all(found.get(gpu) == expected[gpu] for gpu in gpus)

    try:
        await until(own, whole)
    finally:
        assert await child.stop() == 0, child.last_lines()
    newest = {r.key.decode(): r.value for r in await read_all(own, ENTITIES)}
    assert all(EntityRecord.model_validate_json(newest[str(gpu)]) == expected[gpu] for gpu in gpus)


async def test_it_waits_for_records_that_are_away(own, tmp_path):
    """Nothing is lost and the health page says what is missing, while the records cannot be written."""
    away = tmp_path / "away"
    moved = own.model_copy(update={"records_url": f"sqlite:///{away / 'records.sqlite'}"})
    task, health, stop = await running(moved)
    await until(own, lambda _: _said("world" in health.problems()))
    away.mkdir()
    async with Producer(own, "test") as producer:
        await tell(producer, opened(1, entity=Entity.gpu(uuid(3))))
    await until(moved, lambda records: records.entity(Entity.gpu(uuid(3))))
    stop.set()
    await task
