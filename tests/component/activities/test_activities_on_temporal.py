"""A whole repair, action by action, through real workers on a real server: names, types, queues and order hold."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.worker import Worker

from activities.registry import build, on_queue
from gpuward.contracts.actions import ACT_QUEUE, ACTIONS, LEDGER_QUEUE
from gpuward.contracts.acts import Append, AwaitSession, LoadRequest, PersonAsked, SignalRequest
from gpuward.contracts.claims import Held
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Outcome, OutcomeKind
from tests.component.activities.guard_stub import CALLER_QUEUE, StubActor

NODE = "r01-n01"
pytestmark = pytest.mark.asyncio(loop_scope="session")


class Acknowledging:
    def __init__(self) -> None:
        self.keys = []

    async def send_all(self, records):
        self.keys += [(record.topic, record.key) for record in records]


async def no_record(entity):
    return None


async def test_a_repair_action_by_action(bay, tmp_path) -> None:
    await bay.world.inject(node=NODE, gpu=0, fault="dram")
    await bay.guard_says("begun")
    producer = Acknowledging()
    found = build(bay.powers, producer, no_record, bay.client, evidence_folder=tmp_path, poll_s=0.05)

    async def perform(name, request):
        told = await bay.client.execute_workflow(
            "StubCaller",
            args=[name, request.model_dump(mode="json")],
            id=f"call-{uuid.uuid4().hex}",
            task_queue=CALLER_QUEUE,
        )
        return ACTIONS[name].result.model_validate(told)

    workers = [
        Worker(bay.client, task_queue=queue, activities=on_queue(found, queue)) for queue in (ACT_QUEUE, LEDGER_QUEUE)
    ]
    async with workers[0], workers[1]:
        act = await bay.act(fault_classes=("gpu.xid.48",))
        proof = await perform("node.recheck", act)
        assert proof.proven
        assert (await perform("node.cordon", act)).result == "done"
        assert (await perform("node.evict", act)).result == "done"
        assert (await perform("evidence.collect", act)).reference
        assert (await perform("gpu.reset", act)).result == "done"
        seen = await perform(
            "node.await_session",
            AwaitSession(
                act=act,
                want="session",
                before_boot_id=act.boot_id,
                before_sessions=proof.sessions,
                deadline=datetime.now(UTC) + timedelta(seconds=20),
            ),
        )
        assert seen.seen
        assert (await perform("node.validate", act)).passed
        assert (await perform("node.uncordon", act)).result == "done"
        assert (await perform("node.reboot", act)).reason.startswith("condition")
        assert (await perform("node.power_cycle", act)).reason.startswith("condition")

        entity = Entity.node(f"born-{uuid.uuid4().hex[:8]}")
        message = Held(plan="p", attempt=1, until=datetime.now(UTC))
        for _ in range(2):
            await perform("actor.signal_with_start", SignalRequest(entity=entity, messages=(message,)))
        heard = await bay.client.get_workflow_handle_for(StubActor.run, str(entity)).query(StubActor.heard)
        assert [item.get("kind") for item in heard] == [None, "held", "held"]
        assert heard[0] == {"entity": str(entity)}

        outcome = Outcome(id="o1", entity=entity, time=datetime.now(UTC), what=OutcomeKind.BORN)
        await perform("ledger.append", Append(outcomes=(outcome,)))
        await perform("notify.person", PersonAsked(entity=entity, plan="p", attempt=1, text="look"))
        assert producer.keys == [("fleet.outcomes.v1", str(entity).encode())] * 2
        assert (await perform("records.load", LoadRequest(entity=entity))).status == "none"

    counts = await bay.world.counts()
    assert counts.totals == {NODE: {"cordon": 1, "evict": 1, "reset": 1, "validate": 1, "uncordon": 1}}
    assert not (await bay.world.host(NODE)).cordons
