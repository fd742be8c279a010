"""The shell on a real server, around a brain that does what it is told."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.exceptions import ApplicationError

from gpuward.contracts.actions import ACT_QUEUE
from gpuward.contracts.entities import Loaded
from tests.component.workflows import transitions
from tests.component.workflows.echo import order
from tests.component.workflows.peers import Kit, eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_signal_that_starts_an_actor_is_not_lost(kit: Kit, name: str):
    rack = f"rack/{name}"
    await kit.tell(rack, order(rack, "first"), order(rack, "second"))
    async with kit.workers():
        seen = await kit.until_seen(rack, "first", "second", "recalled:none")
        await kit.replay(rack)
    assert [s for s in seen if not s.startswith("recalled")] == ["first", "second"]


async def test_a_repeated_message_that_changes_nothing_costs_one_task(kit: Kit, name: str):
    rack = f"rack/{name}"
    async with kit.workers():
        await kit.tell(rack, order(rack, "first"))
        await kit.until_seen(rack, "first", "recalled")
        before = await transitions.of(kit.client, rack)
        await kit.tell(rack, order(rack, "again"))
        await kit.until_seen(rack, "again")
        after = await transitions.of(kit.client, rack)
    assert after.tasks - before.tasks == 1
    assert after.billable - before.billable == 1


async def test_a_message_to_an_actor_that_is_not_there_starts_it_and_order_holds(kit: Kit, name: str):
    rack, node = f"rack/{name}", f"node/{name}"
    async with kit.workers():
        await kit.tell(rack, *(order(rack, f"m{n}", ("tell", [node, f"t{n}"])) for n in range(5)))
        await kit.tell(rack, *(order(rack, f"m{n}", ("tell", [node, f"t{n}"])) for n in range(5, 10)))
        seen = await kit.until_seen(node, "t9")
    assert [s for s in seen if s.startswith("t")] == [f"t{n}" for n in range(10)]
    assert len(kit.peers.called("actor.signal_with_start")) == 1


async def test_messages_of_one_activation_to_one_actor_are_one_signal(kit: Kit, name: str):
    rack, node = f"rack/{name}", f"node/{name}"
    async with kit.workers():
        await kit.tell(node, order(node, "here"))
        await kit.until_seen(node, "here", "recalled")
        await kit.tell(rack, *(order(rack, f"m{n}", ("tell", [node, f"t{n}"])) for n in range(5)))
        await kit.until_seen(node, "t4")
        history = await kit.client.get_workflow_handle(node).fetch_history()
    signals = [e for e in history.events if e.HasField("workflow_execution_signaled_event_attributes")]
    assert len(signals) == 2
    assert kit.peers.called("actor.signal_with_start") == []


async def test_what_cannot_be_read_is_told_of_and_stops_nothing(kit: Kit, name: str):
    rack = f"rack/{name}"
    async with kit.workers():
        handle = await kit.tell(rack, order(rack, "first"))
        await handle.signal("deliver", "not a list")
        await handle.signal("deliver", [{"kind": "claim", "claimant": "nonsense"}, 7, {"kind": "from-the-future"}])
        await handle.signal("deliver")
        await handle.signal("deliver", args=[[7], [8], [9]])
        await handle.signal("other", [7])
        await kit.tell(rack, order(rack, "last"))
        await kit.until_seen(rack, "first", "last")
        await eventually(lambda: len(kit.peers.ledger) >= 9)
    names = [outcome.name for outcome in kit.peers.ledger]
    assert sorted(names) == ["message.unknown"] + ["message.unreadable"] * 8


async def test_the_ledger_away_delays_nothing_and_loses_nothing(kit: Kit, name: str):
    rack, node = f"rack/{name}", f"node/{name}"
    kit.peers.script["ledger.append"] = [ApplicationError("Kafka is away")] * 2
    async with kit.workers():
        await kit.tell(rack, order(rack, "a", ("note", "one"), ("tell", [node, "told"]), ("ask", "q1")))
        await kit.tell(rack, order(rack, "b", ("note", "two")))
        await kit.until_seen(rack, "performed:q1:True", "b")
        await kit.until_seen(node, "told")
        assert kit.peers.ledger == []
        await eventually(lambda: len(kit.peers.ledger) == 2)
        await kit.replay(rack)
    first, second = kit.peers.ledger
    assert [first.name, second.name] == ["one", "two"]
    assert first.cause.workflow_id == rack
    assert first.cause.run_id
    assert first.id != second.id
    assert first.checkpoint is None or second.checkpoint is not None
    assert kit.peers.acknowledged[-1].outcomes[-1].checkpoint["seen"]


async def test_an_actor_without_ledger_worker_still_acts(kit: Kit, name: str):
    """Nobody takes the append at all: it waits in its queue, and everything else goes on."""
    rack = f"rack/{name}"
    async with kit.workers(queues=(ACT_QUEUE,)):
        await kit.tell(rack, order(rack, "a", ("note", "one"), ("ask", "q1")))
        await kit.until_seen(rack, "performed:q1:True")
    async with kit.workers():
        await eventually(lambda: kit.peers.ledger)


async def test_it_stays_amnesiac_until_the_records_answer(kit: Kit, name: str):
    rack = f"rack/{name}"
    kit.peers.script["records.load"] = [ApplicationError("database away"), Loaded(status="unavailable")]
    async with kit.workers():
        await kit.tell(rack, order(rack, "meanwhile"))
        await kit.until_seen(rack, "meanwhile")
        assert (await kit.view(rack)).amnesiac
        await kit.until_seen(rack, "recalled:none")
        assert not (await kit.view(rack)).amnesiac
    assert len(kit.peers.called("records.load")) == 3


async def test_an_amnesiac_actor_never_writes_over_what_the_records_remember(kit: Kit, name: str):
    rack = f"rack/{name}"
    kit.peers.always["records.load"] = Loaded(status="unavailable")
    async with kit.workers():
        await kit.tell(rack, order(rack, "a", ("note", "one")))
        await eventually(lambda: len(kit.peers.ledger) == 1)
        kit.peers.always["records.load"] = Loaded(status="none")
        await kit.until_seen(rack, "recalled:none")
        await kit.tell(rack, order(rack, "b", ("note", "two")))
        await eventually(lambda: len(kit.peers.ledger) == 2)
    assert kit.peers.ledger[0].checkpoint is None
    assert kit.peers.ledger[1].checkpoint is not None


async def test_an_actor_terminated_behind_our_back_loads_first_and_reuses_no_id(kit: Kit, name: str):
    rack = f"rack/{name}"
    async with kit.workers():
        handle = await kit.tell(rack, order(rack, "a", ("note", "one")))
        await kit.until_seen(rack, "a")
        await eventually(lambda: len(kit.peers.ledger) == 1)
        await handle.terminate()
        kit.peers.script["records.load"] = [_slowly(Loaded(status="found"))]
        await kit.tell(rack, order(rack, "b", ("note", "two")))
        await kit.until_seen(rack, "b")
        assert (await kit.view(rack)).amnesiac
        await kit.until_seen(rack, "recalled:found")
        await eventually(lambda: len(kit.peers.ledger) == 2)
    assert len({outcome.id for outcome in kit.peers.ledger}) == 2


async def test_a_deadline_wakes_once(kit: Kit, name: str):
    rack = f"rack/{name}"
    async with kit.workers():
        await kit.tell(rack, order(rack, "a", ("wake", 0.3)))
        await kit.until_seen(rack, "a", "recalled")
        await kit.tell(rack, order(rack, "b"))
        seen = await kit.until_seen(rack, "woke")
        assert seen.count("woke") == 1
        history = await kit.client.get_workflow_handle(rack).fetch_history()
        await kit.replay(rack)
    timers = [e for e in history.events if e.HasField("timer_started_event_attributes")]
    assert len(timers) == 1


async def test_an_errand_that_fails_for_good_is_told_and_an_act_is_never_an_errand(kit: Kit, name: str):
    rack = f"rack/{name}"
    kit.peers.script["notify.person"] = [ApplicationError("no route", type="Permanent")]
    async with kit.workers():
        await kit.tell(rack, order(rack, "a", ("ask", "q1"), ("ask", "q2"), ("uncordon", "u")))
        await kit.until_seen(rack, "performed:q1:", "performed:q2:", "performed:u:True")
        seen = await kit.seen(rack)
    assert sorted(s for s in seen if s.startswith("performed:q")) == [
        "performed:q1:False",
        "performed:q2:True",
    ] or sorted(s for s in seen if s.startswith("performed:q")) == ["performed:q1:True", "performed:q2:False"]


async def test_everything_holds_when_each_task_replays_the_whole_history(kit: Kit, name: str):
    """No cache: as if the worker were killed before every workflow task."""
    rack, node = f"rack/{name}", f"node/{name}"
    async with kit.workers(cache=0):
        for n in range(6):
            await kit.tell(rack, order(rack, f"m{n}", ("note", f"n{n}"), ("tell", [node, f"t{n}"]), ("ask", f"q{n}")))
        await kit.until_seen(rack, *(f"performed:q{n}" for n in range(6)))
        seen = await kit.until_seen(node, "t5")
        await eventually(lambda: len(kit.peers.ledger) == 6)
    assert [s for s in seen if s.startswith("t")] == [f"t{n}" for n in range(6)]
    assert [outcome.name for outcome in kit.peers.ledger] == [f"n{n}" for n in range(6)]


def _slowly(answer):
    async def answered(_request):
        await asyncio.sleep(1)
        return answer

    return answered
