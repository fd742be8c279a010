"""The real actors and guards together on a real server, from a fault to a node handed back; the powers are doubles."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import WorkflowUpdateFailedError

from gpuward.contracts import acts, updates
from gpuward.contracts.identity import FLEET
from tests.component.workflows import transitions
from tests.component.workflows.fleet import Fleet
from tests.component.workflows.peers import Kit, eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_TO_FIRST_ACTIVITY = 14
MOST_FOR_A_RESET = 40
REPAIR = ["node.recheck", "node.cordon", "gpu.reset", "node.await_session", "node.validate", "node.uncordon"]


async def _begin(kit: Kit, act: str, request: acts.NodeAct) -> acts.ActResult:
    """What the interlock does last."""
    ask = updates.Begin(
        node=request.node, plan=request.plan, attempt=request.attempt, token=request.token, boot_id=request.boot_id, act=act
    )  # fmt: skip
    answer = await kit.client.get_workflow_handle(str(request.guard)).execute_update(
        "begin", ask, result_type=updates.BeginAnswer
    )
    return acts.ActResult(result="done" if answer.verdict == "begun" else "refused", reason=answer.reason)


@pytest.fixture
def fleet(real: Kit, name: str) -> Fleet:
    for act in ("node.evict", "gpu.reset", "node.reboot"):
        real.peers.always[act] = lambda request, act=act: _begin(real, act, request)
    real.peers.always["node.await_session"] = acts.SessionSeen(seen=True, boot_id="b1", sessions={"g": "s2"})
    real.peers.always["node.validate"] = acts.Validation(passed=True, boot_id="b1")
    return Fleet(name)


async def _handed_back(kit: Kit, fleet: Fleet) -> None:
    async def healthy() -> bool:
        views = [await kit.view(entity) for entity in (fleet.gpu(), fleet.node)]
        return all(view.lifecycle == "healthy" for view in views) and "node.uncordon" in kit.peers.called()

    await eventually(healthy)


async def _tasks(kit: Kit, fleet: Fleet) -> dict[str, int]:
    return {entity: (await transitions.of(kit.client, entity)).tasks for entity in fleet.all}


async def _children(kit: Kit, fleet: Fleet) -> list[str]:
    history = await kit.client.get_workflow_handle(fleet.node).fetch_history()
    started = [e.start_child_workflow_execution_initiated_event_attributes.workflow_id for e in history.events]
    return [workflow_id for workflow_id in started if workflow_id]


async def test_a_fault_becomes_a_reset_and_the_node_comes_back(real: Kit, fleet: Fleet):
    first: dict[str, int] = {}

    async def recheck(_request):
        first.update(await _tasks(real, fleet))
        return acts.Proof(proven=True, boot_id="b1", sessions={})

    real.peers.script["node.recheck"] = [recheck]
    async with real.workers():
        await fleet.born(real)
        await asyncio.sleep(0.5)
        before = await _tasks(real, fleet)
        await real.tell(fleet.gpu(), fleet.fault())
        await _handed_back(real, fleet)
        await asyncio.sleep(0.5)
        after = await _tasks(real, fleet)
        (child,) = await _children(real, fleet)
        child_tasks = (await transitions.of(real.client, child)).tasks
        for workflow_id in [*fleet.all, child]:
            await real.replay(workflow_id)
        pool = await real.view(fleet.pool)
    assert [call for call in real.peers.called() if call in REPAIR] == REPAIR
    to_first = {entity: first[entity] - before[entity] for entity in fleet.all}
    whole = {entity: after[entity] - before[entity] for entity in fleet.all}
    assert sum(to_first.values()) + 1 <= MOST_TO_FIRST_ACTIVITY, to_first
    assert sum(whole.values()) + child_tasks <= MOST_FOR_A_RESET, (whole, child_tasks)
    assert pool.state["slots"] == {}, "the slot is free again"


async def test_the_whole_chain_holds_with_every_task_replayed(real: Kit, fleet: Fleet):
    async with real.workers(cache=0):
        await fleet.born(real)
        await real.tell(fleet.gpu(), fleet.fault())
        await _handed_back(real, fleet)
    assert len(real.peers.called("gpu.reset")) == 1


async def test_stop_of_the_fleet_is_acknowledged_by_every_pool_and_resume_goes_on(real: Kit, fleet: Fleet):
    alice = updates.Stop(person="alice", reason="maintenance of the room")
    fleet_guard = real.client.get_workflow_handle(FLEET)
    async with real.workers():
        await fleet.born(real)

        async def registered() -> bool:
            return f"p-{fleet.name}" in (await real.view(FLEET)).state["guards"]

        await eventually(registered)
        answer = await fleet_guard.execute_update("stop", alice, result_type=updates.StopAnswer)
        assert answer.stopped
        assert f"p-{fleet.name}" in answer.pools
        assert "stopped" in (await real.view(fleet.pool)).lifecycle
        with pytest.raises(WorkflowUpdateFailedError):
            await fleet_guard.execute_update("stop", updates.Stop(person=" "))
        await real.tell(fleet.gpu(), fleet.fault())
        await asyncio.sleep(1)
        assert "gpu.reset" not in real.peers.called()
        await fleet_guard.execute_update("resume", updates.Resume(person="alice"), result_type=updates.StopAnswer)
        await _handed_back(real, fleet)
        await real.replay(FLEET)
        await real.replay(fleet.pool)
    assert len(real.peers.called("gpu.reset")) == 1


async def test_begin_is_answered_through_continue_as_new(real: Kit, fleet: Fleet):
    """Eight at a time, as an act worker asks; the guard goes through several runs meanwhile."""
    guard = real.client.get_workflow_handle(fleet.pool)
    ask = updates.Begin(node="n-nobody", plan="p", attempt=1, token=(1, 1), boot_id="b", act="gpu.reset")

    async def begun() -> updates.BeginAnswer:
        return await guard.execute_update("begin", ask, result_type=updates.BeginAnswer)

    async def continued() -> bool:
        first = (await guard.fetch_history()).events[0].workflow_execution_started_event_attributes
        return bool(first.continued_execution_run_id)

    async with real.workers():
        await fleet.born(real)
        rounds = 0
        while not await continued():
            rounds += 1
            assert rounds < 100, "the guard never ended its run"
            for _ in range(5):
                answers = await asyncio.gather(*(begun() for _ in range(8)))
                assert {answer.verdict for answer in answers} == {"refused"}


async def test_a_person_is_asked_and_a_wrong_answer_leaves_no_trace(real: Kit, fleet: Fleet):
    real.peers.always["node.await_session"] = acts.SessionSeen(seen=False, reason="no new session")
    node = real.client.get_workflow_handle(fleet.node)
    async with real.workers():
        await fleet.born(real)
        await real.tell(fleet.gpu(), fleet.fault())

        async def asked() -> updates.PendingQuestion | None:
            return await node.query("question", result_type=updates.PendingQuestion | None)

        question = await eventually(asked)
        wrong = updates.Reject(person="bob", plan="other", attempt=1)
        await asyncio.sleep(0.5)
        before = (await transitions.of(real.client, fleet.node)).events
        with pytest.raises(WorkflowUpdateFailedError):
            await node.execute_update("reject", wrong)
        assert (await transitions.of(real.client, fleet.node)).events == before
        right = wrong.model_copy(update={"plan": question.plan, "attempt": question.attempt})
        answer = await node.execute_update("reject", right, result_type=updates.PersonAnswer)
        assert answer.accepted
        assert await asked() is None
        await real.replay(fleet.node)
    assert len(real.peers.called("gpu.reset")) == 1
    assert "node.uncordon" not in real.peers.called()
