"""Whatever anyone writes to a topic: a dead letter with a reason, or kept until it makes sense; and nothing stops."""

import asyncio
import os
from datetime import UTC, datetime

import httpx
import orjson
import pytest

from gpuward.console.unreadable import described
from gpuward.contracts import topics
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.envelope import REROUTED
from gpuward.contracts.errors import Permanent
from gpuward.contracts.identity import Entity, NodeId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import ObservationBatch, XidLogged
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.runtime import kafka

KEYS = {
    topics.OBSERVATIONS: b"ghost",
    topics.INVENTORY: b"ghost|nobody",
    topics.FAULTS: b"gpu/GPU-ghost",
    topics.FAULTS_BY_RACK: b"rack/ghost",
    topics.INVENTORY_CHANGES: b"node/ghost",
    topics.DIRECTIVES: b"node/ghost",
    topics.POLICY: b"pool/ghost",
    topics.OUTCOMES: b"node/ghost",
    topics.PARKED: b"node/ghost",
}
"""Every topic that somebody reads, with a key that fits it."""
GARBAGE = {
    "truncated": b'{"kind": "fault", "entity": "gpu/GPU-gh',
    "not text": bytes(range(128, 256)),
    "wrong types": b'{"kind": 7, "entity": [], "node": {"x": 1}, "time": "yesterday", "observations": "none"}',
    "wrong shape": b"[1, 2, 3]",
    "unknown kind": b'{"kind": "horoscope", "entity": "node/ghost"}',
}
LARGE = 5_000_000
ENOUGH = "6000000"


@pytest.fixture
def settings(fleet):
    return fleet.settings


async def test_garbage_on_every_topic_is_a_dead_letter_with_a_reason_and_stops_nothing(fleet, patient, settings):
    before = dict(fleet.restarts)
    sent = {}
    async with kafka.Producer(settings, "garbage") as producer:
        for topic, key in KEYS.items():
            for name, value in GARBAGE.items():
                place = await producer.send(topic, key=key, value=value)
                sent[topic, *place] = name
        # Nobody reads these two, but people do.
        for topic in (topics.ENTITIES, topics.DEAD_LETTERS):
            await producer.send(topic, key=b"node/ghost", value=GARBAGE["truncated"])
    letters = await _letters(settings, set(sent))
    for place, name in sent.items():
        assert letters[place]["reason"], (place, name)
        assert letters[place]["detail"], (place, name)
    code, out, _ = await fleet.command("dlq", "list", "--json")
    assert code == 0
    assert orjson.loads(out)["total"] >= len(sent)
    await _goes_on(fleet, patient, before)


async def test_five_megabytes_on_a_topic_whose_limit_was_raised_stop_nothing(fleet, patient, settings):
    before = dict(fleet.restarts)
    wide = (topics.OBSERVATIONS, topics.FAULTS, topics.DIRECTIVES, topics.OUTCOMES, topics.INVENTORY_CHANGES)
    await _raise_limits(settings, wide)
    sent = set()
    async with kafka.Producer(settings, "garbage") as producer:
        for topic in wide:
            sent.add((topic, *await producer.send(topic, key=KEYS[topic], value=os.urandom(LARGE))))
        # All in order, but more than Temporal takes: 2 MB in one signal, 4 MB in one request.
        for size in (3_000_000, LARGE):
            place = await producer.send(
                topics.DIRECTIVES, key=b"node/ghost", value=_novel("node/ghost", size).to_json()
            )
            sent.add((topics.DIRECTIVES, *place))
        bearable = _novel(patient.entity, 1_500_000)
        await producer.send(topics.DIRECTIVES, key=patient.entity.encode(), value=bearable.to_json())
    letters = await _letters(settings, sent)
    assert all(letters[place]["reason"] and letters[place]["detail"] for place in sent)
    await fleet.ledger.until(
        lambda _: fleet.ledger.of(patient.entity, what=OutcomeKind.PERSON_SAID), 60, "what can be borne"
    )
    await _goes_on(fleet, patient, before)


async def test_a_record_that_kafka_refuses_costs_its_producer_nothing(settings):
    async with kafka.Producer(settings, "garbage") as producer:
        for value in (b"before", b"after"):
            await producer.send(topics.ENTITIES, key=b"node/ghost", value=value)
            with pytest.raises(Permanent):
                await producer.send(topics.ENTITIES, key=b"node/ghost", value=os.urandom(2_000_000))
        large = kafka.Outgoing(topics.ENTITIES, b"node/ghost", os.urandom(2_000_000))
        with pytest.raises(Permanent):
            await producer.send_all([large])
        await producer.send_all([large._replace(value=b"at last")])


async def test_a_node_that_nobody_knows_is_kept_untouched_until_the_inventory_learns_it(fleet, patient, settings):
    before = dict(fleet.restarts)
    ghost, now = NodeId(f"ghost-of-{patient.node}"), datetime.now(UTC)
    async with kafka.Producer(settings, "garbage") as producer:
        batch = _batch(ghost, "boot-1", now, 79, "0000:03:00.0")
        await producer.send(topics.OBSERVATIONS, key=ghost.encode(), value=batch.to_json())  # without an envelope
        entity = f"node/{ghost}"
        await fleet.ledger.until(
            lambda _: fleet.ledger.of(entity, what=OutcomeKind.INCIDENT_OPENED), 60, "its incident"
        )
        await fleet.ledger.until(
            lambda _: [o for o in fleet.ledger.of(entity) if o.name == "watch_only"], 60, "the reason"
        )
        told = NodeInventory(node=ghost, source="garbage", time=datetime.now(UTC), boot_id="boot-1", rack=patient.rack)
        await producer.send(topics.INVENTORY, key=told.key.encode(), value=told.to_json())
        # It has a rack and a pool now, and still no address that could be proven: nothing may be done to it.
        await fleet.ledger.until(
            lambda _: [o for o in fleet.ledger.of(entity) if o.name == "inventory" and patient.rack in o.text],
            60,
            "its seat",
        )
        gone = told.model_copy(update={"time": datetime.now(UTC), "removed": True})
        await producer.send(topics.INVENTORY, key=gone.key.encode(), value=gone.to_json())
    await _goes_on(fleet, patient, before)
    assert not [o for o in fleet.ledger.of(entity) if o.what is OutcomeKind.ACT or o.name == "started"]


async def test_a_record_on_the_wrong_partition_is_rerouted_once_and_counted(fleet, patient, settings):
    before = dict(fleet.restarts)
    host = await fleet.world.host(patient.node)
    slot = next(gpu.slot for gpu in host.gpus if gpu.uuid == patient.uuid)
    batch = _batch(NodeId(patient.node), host.boot_id, datetime.now(UTC), 31, slot)
    order = Directive(
        id=f"lost-{patient.node}", order=Order.ANNOTATE, entity=Entity(patient.entity), person="postman", time=datetime.now(UTC)
    )  # fmt: skip
    counted = await _rerouted(fleet)
    async with kafka.Producer(settings, "garbage") as producer:
        for topic, key, value in (
            (topics.OBSERVATIONS, patient.node.encode(), batch.to_json()),
            (topics.DIRECTIVES, patient.entity.encode(), order.to_json()),
        ):
            wrong = (topics.TOPICS[topic].partition(key) + 1) % topics.PARTITIONS
            await producer.send(topic, key=key, value=value, partition=wrong)
    await fleet.ledger.until(lambda _: fleet.ledger.of(patient.gpu, what=OutcomeKind.RECORDED), 60, "the Xid 31")
    await fleet.ledger.until(lambda _: fleet.ledger.of(patient.entity, what=OutcomeKind.PERSON_SAID), 60, "the note")
    assert await _rerouted(fleet) == counted + 2
    for topic, value in ((topics.OBSERVATIONS, batch.to_json()), (topics.DIRECTIVES, order.to_json())):
        copies = [record async for record in _held(settings, topic) if record.value == value]
        homes = [record.partition for record in copies if any(name == REROUTED for name, _ in record.headers)]
        assert homes == [topics.TOPICS[topic].partition(copies[0].key)]
    await _goes_on(fleet, patient, before)


def _novel(entity, size):
    now = datetime.now(UTC)
    return Directive(
        id=f"{size}", order=Order.ANNOTATE, entity=Entity(entity), person="novelist", time=now, reason="x" * size
    )


def _batch(node, boot_id, time, code, device):
    xid = XidLogged(
        id=f"garbage-{node}-{code}", time=time, boot_id=boot_id, code=code, device=device, sequence=(900_000, 900_000)
    )
    return ObservationBatch(node=node, boot_id=boot_id, seq=900_000, time=time, observations=(xid,))


async def _goes_on(fleet, patient, restarts):
    await patient.falls_off_the_bus()
    await patient.heals()
    assert await patient.count("reboot") == 1
    assert fleet.restarts == restarts


async def _letters(settings, due):
    """The dead letters of these places, as `dlq list` shows them; waits until there is one for each."""
    found = {}
    reader = kafka.consumer(settings, "garbage-reader", topics.DEAD_LETTERS)
    await reader.start()
    try:
        async with asyncio.timeout(60):
            while due - found.keys():
                for record in [one for part in (await reader.getmany(timeout_ms=500)).values() for one in part]:
                    letter = described(record)
                    found[letter["topic"], letter["partition"], letter["offset"]] = letter
    except TimeoutError:
        raise AssertionError(f"no dead letter for {sorted(due - found.keys())}") from None
    finally:
        await reader.stop()
    return found


async def _held(settings, topic):
    from gpuward.console.cli.reach import reading

    async for record in reading(settings, topic):
        yield record


async def _rerouted(fleet):
    """What streams and bridge have counted together."""
    total = 0.0
    async with httpx.AsyncClient() as http:
        for name in ("streams", "bridge"):
            url = (fleet.data / "health" / name).read_text().strip()
            lines = (await http.get(f"{url}/metrics")).text.splitlines()
            total += sum(
                float(line.split()[-1]) for line in lines if line.startswith("gpuward_streams_rerouted_total{")
            )
    return total


async def _raise_limits(settings, names):
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

    admin = AIOKafkaAdminClient(**kafka.security(settings))
    await admin.start()
    try:
        change = {"max.message.bytes": ENOUGH}
        answers = await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, change) for name in names])
        assert all(code == 0 for answer in answers for code, *_ in answer.resources), answers
    finally:
        await admin.close()
