"""Commands against a real Kafka and a real Temporal."""

from __future__ import annotations

import asyncio
import json

import pytest

from gpuward.console.cli import app
from gpuward.contracts.directives import Directive
from gpuward.contracts.envelope import Envelope
from gpuward.contracts.policy import PolicyChanged
from gpuward.contracts.topics import DEAD_LETTERS, DIRECTIVES, POLICY, TOPICS
from gpuward.runtime.kafka import Producer, consumer
from gpuward.runtime.records import Records
from streams.dead_letters import DeadLetters
from tests.unit.console.telling import fleet

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def run(settings, capsys, *words: str):
    """Exit code, document and stderr, as a shell gets them."""
    whole = [*words, "--json", "--data", str(settings.data)]
    code = await asyncio.to_thread(app, whole, result_action="return_value")
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


async def records_of(settings, topic):
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
async def filled(settings):
    records = Records(settings.records)
    records.create()
    await records.fold(fleet(nodes=2, gpus=2), [], {})
    records.close()
    return settings


async def test_a_directive_is_on_kafka_when_the_command_answers(filled, capsys):
    code, document, _ = await run(filled, capsys, "cordon", "r01-n02", "--reason", "a look inside")
    assert code == 0
    place = (document["partition"], document["offset"])
    record = next(r for r in await records_of(filled, DIRECTIVES) if (r.partition, r.offset) == place)
    said = Directive.model_validate_json(record.value)
    assert (record.key, said.order, said.entity, said.reason) == (
        b"node/r01-n02",
        "cordon",
        "node/r01-n02",
        "a look inside",
    )
    assert record.partition == TOPICS[DIRECTIVES].partition(record.key)
    assert Envelope.from_headers(record.headers).type == "gpuward.directive.cordon"


async def test_a_policy_is_told_to_each_pool(settings, capsys):
    code, document, _ = await run(settings, capsys, "policy", "apply")
    assert code == 0
    told = [PolicyChanged.model_validate_json(record.value) for record in await records_of(settings, POLICY)]
    assert [(str(t.entity), t.revision, t.version) for t in told] == [
        ("pool/default", document["revision"], document["version"])
    ]


async def test_topics_that_exist_are_left_alone(settings, capsys):
    code, document, _ = await run(settings, capsys, "topics", "apply")
    assert code == 0
    assert set(document["topics"].values()) == {"exists"}


async def test_dead_letters_are_listed_with_where_they_lay(settings, capsys):
    async with Producer(settings, "test") as producer:
        partition, offset = await producer.send(DIRECTIVES, key=b"node/x", value=b"{")
        lost = next(r for r in await records_of(settings, DIRECTIVES) if (r.partition, r.offset) == (partition, offset))
        await DeadLetters(producer, by="test").write(lost, reason="unreadable", text="not a Directive")
    code, document, _ = await run(settings, capsys, "dlq", "list")
    assert code == 0
    letter = document["letters"][-1]
    assert (letter["topic"], letter["partition"], letter["offset"]) == (DIRECTIVES, partition, offset)
    assert (letter["reason"], letter["detail"], letter["by"], letter["value"]) == (
        "unreadable",
        "not a Directive",
        "test",
        "{",
    )
    assert DEAD_LETTERS in TOPICS


async def test_an_actor_that_does_not_run_is_a_sentence(settings, capsys):
    for words in (("stop", "nowhere"), ("approve", "nobody"), ("resume", "nowhere")):
        code, document, err = await run(settings, capsys, *words)
        assert (code, document) == (1, None)
        assert "has no actor" in err


async def test_the_doctor_tells_what_runs_and_what_does_not(filled, capsys):
    code, document, _ = await run(filled, capsys, "doctor")
    found = {finding["part"]: finding for finding in document["findings"]}
    assert code == 1
    assert found["kafka"]["ok"]
    assert found["temporal"]["ok"]
    assert not found["bridge"]["ok"]
    assert "gpuward bridge" in found["bridge"]["text"]
