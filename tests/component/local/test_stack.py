"""One real stack, used by every test here in any order."""

import asyncio
import os
import signal
import uuid

import aiokafka
import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from temporalio.client import Client
from temporalio.service import RPCError

from gpuward.contracts.errors import Permanent
from gpuward.local.run_file import RunFile
from gpuward.local.stack import LocalStack

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def topic(stack, **config):
    name = f"test-{uuid.uuid4()}"
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka.address)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 1, 1, topic_configs=config)])
    finally:
        await admin.close()
    return name


async def send(stack, name, *values):
    async with aiokafka.AIOKafkaProducer(
        bootstrap_servers=stack.kafka.address, acks="all", max_request_size=8_000_000
    ) as producer:
        for value in values:
            await producer.send_and_wait(name, value)


async def read(stack, name, count):
    async with aiokafka.AIOKafkaConsumer(
        name, bootstrap_servers=stack.kafka.address, auto_offset_reset="earliest", group_id=f"group-{name}"
    ) as consumer:
        return [(await consumer.getone()).value for _ in range(count)]


async def test_a_killed_broker_comes_back_on_its_port_with_its_records(stack):
    address, pid = stack.kafka.address, stack.kafka.pid
    name = await topic(stack)
    await send(stack, name, b"before")
    await stack.kafka.kill()
    assert stack.kafka.pid is None
    assert "kafka" not in RunFile.load(stack.data_dir).pids
    await stack.kafka.restart()
    assert stack.kafka.address == address
    assert stack.kafka.pid not in {None, pid}
    assert RunFile.load(stack.data_dir).pids["kafka"] == stack.kafka.pid
    await send(stack, name, b"after")
    assert await read(stack, name, 2) == [b"before", b"after"]


async def test_a_topic_may_raise_its_record_size(stack):
    big = os.urandom(5_000_000)
    name = await topic(stack, **{"max.message.bytes": "6000000"})
    await send(stack, name, big)
    assert await read(stack, name, 1) == [big]


async def test_topics_come_from_nowhere_but_their_table(stack):
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=stack.kafka.address, request_timeout_ms=1000) as producer:
        with pytest.raises(aiokafka.errors.KafkaError):
            await producer.send_and_wait("never-made", b"x")


async def test_a_killed_temporal_comes_back_on_its_port_with_its_workflows(stack):
    address = stack.temporal.address
    client = await Client.connect(address)
    handle = await client.start_workflow("nobody-runs-it", id=f"wf-{uuid.uuid4()}", task_queue="none")
    await stack.temporal.kill()
    await stack.temporal.restart()
    assert stack.temporal.address == address
    assert (await handle.describe()).run_id == handle.first_execution_run_id


async def test_temporal_runs_with_the_dynamic_configuration_it_was_given(stack):
    client = await Client.connect(stack.temporal.address)
    handle = await client.start_workflow("nobody-runs-it", id=f"wf-{uuid.uuid4()}", task_queue="none")
    for _ in range(3):
        await handle.signal("event")
    with pytest.raises(RPCError, match="exceeded workflow execution limit for signal events"):
        await handle.signal("event")


async def test_the_temporal_page_is_served(stack):
    async with httpx.AsyncClient(trust_env=False) as http:
        assert "html" in (await http.get(stack.temporal_ui)).headers["content-type"]


async def test_a_second_stack_on_the_directory_is_refused_with_a_sentence(stack):
    with pytest.raises(Permanent, match=rf"^Another stack runs on .*process {os.getpid()}.*--data\.$"):
        async with LocalStack(stack.data_dir):
            pytest.fail("entered")


async def test_other_commands_find_every_address(stack):
    stack.announce(world="http://127.0.0.1:1")
    found = RunFile.load(stack.data_dir)
    assert found == stack.run_file
    assert (found.kafka, found.temporal) == (stack.kafka.address, stack.temporal.address)
    assert found.extra["world"] == "http://127.0.0.1:1"


@pytest.mark.parametrize("name", ["kafka", "temporal"])
async def test_an_exit_that_nobody_asked_for_is_reported_with_the_log(stack, name):
    server = getattr(stack, name)
    watch = asyncio.create_task(stack.unexpected_exit())
    os.kill(server.pid, signal.SIGKILL)
    error = await watch
    assert str(error).startswith(
        f"{name} ended by itself with status -9. The end of {stack.data_dir}/logs/{name}.log:\n"
    )
    await server.restart()


async def test_an_exit_that_was_asked_for_is_not_reported(stack):
    watch = asyncio.create_task(stack.unexpected_exit())
    await stack.temporal.kill()
    await stack.temporal.restart()
    assert not watch.done()
    os.kill(stack.temporal.pid, signal.SIGKILL)
    assert "temporal ended by itself" in str(await watch)
    await stack.temporal.restart()
