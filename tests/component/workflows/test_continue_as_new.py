"""Nothing is lost between one run and the next, on a real server."""

from __future__ import annotations

import asyncio

import pytest

from gpuward.contracts import acts
from tests.component.workflows.attempts import attempt
from tests.component.workflows.echo import order
from tests.component.workflows.peers import Kit, eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def flood(
    kit: Kit, entity: str, signals: int, *program: tuple, prefix: str = "f", at_once: int = 20
) -> list[str]:
    """Sends so many signals, some at once; returns the ids."""
    ids = [f"{prefix}{n}" for n in range(signals)]
    handle = kit.client.get_workflow_handle(entity)
    for first in range(0, signals, at_once):
        batch = ids[first : first + at_once]
        await asyncio.gather(*(handle.signal("deliver", [order(entity, each, *program)]) for each in batch))
    return ids


async def runs_of(kit: Kit, entity: str) -> int:
    run_id, runs = None, 0
    while True:
        history = await kit.client.get_workflow_handle(entity, run_id=run_id).fetch_history()
        runs += 1
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id or None
        if run_id is None:
            return runs


async def flood_until_continued(kit: Kit, entity: str, *program: tuple, at_once: int) -> list[str]:
    """Keeps sending until the actor has gone through continue-as-new, and a little longer; returns the ids."""
    ids: list[str] = []
    while await runs_of(kit, entity) == 1:
        assert len(ids) < 5000, "the run never ended"
        ids += await flood(kit, entity, 100, *program, prefix=f"f{len(ids)}-", at_once=at_once)
    return ids + await flood(kit, entity, 100, *program, prefix=f"f{len(ids)}-", at_once=at_once)


async def test_signals_arriving_during_continue_as_new_are_all_seen_once(kit: Kit, name: str):
    rack = f"rack/{name}"
    async with kit.workers():
        await kit.tell(rack, order(rack, "first"))
        ids = await flood_until_continued(kit, rack, ("note", "n"), at_once=20)
        seen = await kit.until_seen(rack, ids[-1], within=30)
        await eventually(lambda: len(kit.peers.ledger) == len(ids))
    assert sorted(s for s in seen if s.startswith("f")) == sorted(["first", *ids])
    assert seen.count("recalled:none") == 1, "what was loaded is carried, not loaded again"
    assert len({outcome.id for outcome in kit.peers.ledger}) == len(ids)


async def test_a_backlog_that_waited_for_a_worker_is_taken_in_order_200_at_a_time(kit: Kit, name: str):
    rack = f"rack/{name}"
    await kit.tell(rack)
    for first in range(0, 700, 100):
        await kit.tell(rack, *(order(rack, f"m{n}") for n in range(first, first + 100)))
    async with kit.workers():
        seen = await kit.until_seen(rack, "m699")
        turns = (await kit.view(rack)).state["turns"]
    assert [s for s in seen if s.startswith("m")] == [f"m{n}" for n in range(700)]
    assert turns >= 4


async def test_what_is_under_way_is_carried_when_it_does_not_end(kit: Kit, name: str):
    """An errand that hangs and a ledger that hangs: the run ends all the same, and its successor knows of both."""
    rack = f"rack/{name}"
    release = asyncio.Event()
    kit.peers.script["notify.person"] = [_until(release, acts.Nothing())]
    kit.peers.script["ledger.append"] = [_until(release, acts.Nothing())]
    async with kit.workers():
        await kit.tell(rack, order(rack, "first", ("ask", "q1"), ("note", "one")))
        await kit.until_seen(rack, "first", "recalled")
        ids = await flood_until_continued(kit, rack, at_once=5)
        await kit.until_seen(rack, "performed:q1:True", ids[-1])
        await eventually(lambda: len(kit.peers.ledger) == 1)
        release.set()
        seen = await kit.seen(rack)
    assert set(ids) <= set(seen)
    assert seen.count("performed:q1:True") == 1


async def test_a_child_survives_and_reports_to_the_successor(kit: Kit, name: str):
    node = f"node/{name}"
    child = f"remediation/{name}/p1/1"
    release = asyncio.Event()
    kit.peers.script["node.await_session"] = [_until(release, acts.SessionSeen(seen=True, boot_id="b2"))]
    async with kit.workers():
        start = ("start", attempt(name).model_dump(mode="json"))
        await kit.tell(node, order(node, "first", start))
        await eventually(lambda: kit.peers.called("node.await_session"))
        ids = await flood_until_continued(kit, node, ("note", "n"), at_once=5)
        await kit.until_seen(node, ids[-1])
        await kit.tell(node, order(node, "look", ("look", child), start))
        await kit.until_seen(node, "looked:running")
        release.set()
        await kit.until_seen(node, "report:ended:repaired:True")
        await kit.client.get_workflow_handle(child).result()
        await kit.tell(node, order(node, "look again", ("look", child), ("look", "remediation/nobody/p1/1")))
        seen = await kit.until_seen(node, "looked:closed", "looked:missing")
        await kit.replay(node)
    assert seen.count("report:ended:repaired:True:") == 1
    assert len(kit.peers.called("gpu.reset")) == 1


async def test_a_child_terminated_behind_our_back_is_told_at_once(kit: Kit, name: str):
    node = f"node/{name}"
    child = f"remediation/{name}/p1/1"
    kit.peers.script["node.await_session"] = [_until(asyncio.Event(), acts.SessionSeen(seen=True))]
    async with kit.workers():
        await kit.tell(node, order(node, "first", ("start", attempt(name).model_dump(mode="json"))))
        await eventually(lambda: kit.peers.called("node.await_session"))
        await kit.client.get_workflow_handle(child).terminate()
        await kit.until_seen(node, "looked:closed")


def _until(event: asyncio.Event, answer):
    async def answered(_request):
        await event.wait()
        return answer

    return answered
