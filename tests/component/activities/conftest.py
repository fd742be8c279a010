from __future__ import annotations

import contextlib
import uuid
from datetime import UTC, datetime, timedelta

import pytest_asyncio
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.interlock import Interlock
from activities.simulated.power import SimulatedPower
from gpuward.contracts.acts import NodeAct
from gpuward.contracts.claims import Limits, Token
from gpuward.contracts.identity import Entity
from gpuward.contracts.seat import Address, Seat
from gpuward.local.temporal import temporal_binary
from tests.component.activities.guard_stub import CALLER_QUEUE, StubActor, StubCaller, StubGuard
from tests.component.simulator.running import running_world

NODE = "r01-n01"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def act_temporal():
    """A real server, in memory, once for all, with a worker for the stubs."""
    async with await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter,
        dev_server_existing_path=str(temporal_binary()),
        dev_server_log_level="never",
    ) as environment:
        stubs = Worker(
            environment.client,
            task_queue=CALLER_QUEUE,
            workflows=[StubGuard, StubCaller],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        actors = Worker(
            environment.client,
            task_queue="gpuward-decide",
            workflows=[StubActor],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with stubs, actors:
            yield environment.client


class Bay:
    """One node of a real world with a real guard's address: everything that an act needs, each piece changeable."""

    def __init__(self, running, client) -> None:
        self.running, self.client = running, client
        self.world = running.client
        self.power = SimulatedPower(running.url, timeout_s=2)
        self.powers = {"simulated": self.power}
        self.guard = Entity.pool(f"test-{uuid.uuid4().hex[:8]}")
        self.interlock = Interlock(client, self.powers)

    async def guard_says(self, says: str) -> None:
        await self.client.start_workflow("StubGuard", says, id=str(self.guard), task_queue=CALLER_QUEUE)

    async def asked(self):
        return await self.client.get_workflow_handle_for(StubGuard.run, str(self.guard)).query(StubGuard.asked)

    async def act(self, **changes) -> NodeAct:
        host = await self.world.host(NODE)
        seat = Seat(
            node=NODE,
            rack="r01",
            pool="test",
            address=Address(provider="simulated", bmc=f"bmc-{NODE}", smbios_uuid=host.smbios_uuid),
        )
        act = NodeAct(
            node=NODE,
            seat=seat,
            plan="p1",
            attempt=1,
            boot_id=host.boot_id,
            gpus=(host.gpus[0].uuid,),
            token=Token(1, 1),
            not_after=datetime.now(UTC) + timedelta(minutes=5),
            guard=self.guard,
            limits=Limits(mode="act", drain_mode="immediate", evict_deadline_s=5, validate_level=1),
            fault_classes=("gpu.xid.79",),
        )
        return act.model_copy(update=changes)

    async def untouched(self) -> bool:
        return not (await self.world.counts()).acts


@contextlib.asynccontextmanager
async def new_bay(client):
    async with running_world(None) as running, contextlib.AsyncExitStack() as stack:
        bay = Bay(running, client)
        stack.push_async_callback(bay.power.close)
        yield bay


@pytest_asyncio.fixture(loop_scope="session")
async def bay(act_temporal):
    async with new_bay(act_temporal) as bay:
        yield bay


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def refusing_bay(act_temporal):
    """Shared by tests that must not touch it: its first GPU is off the bus, the guard says yes."""
    async with new_bay(act_temporal) as bay:
        await bay.world.inject(node=NODE, gpu=0, code=79)
        await bay.guard_says("begun")
        yield bay
