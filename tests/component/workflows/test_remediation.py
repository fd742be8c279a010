"""Every step failing, refused and unknown, on a real server; the powers are doubles."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from temporalio.exceptions import ApplicationError

from gpuward.contracts import acts
from gpuward.contracts.claims import Explained
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.remedies import Remedy
from tests.component.workflows import transitions
from tests.component.workflows.attempts import attempt, renewed
from tests.component.workflows.echo import order
from tests.component.workflows.peers import Kit, eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(temporal):
    """One set of workers for the module, without a cache: as if they were killed between any two effects."""
    async with Kit(temporal.client).workers(cache=0) as kit:
        yield kit


@pytest.fixture
def kit(running: Kit) -> Kit:
    running.peers.forget()
    return running


GONE = ApplicationError("the power is gone", type="Permanent", non_retryable=True)
UNDONE = ["node.uncordon"]
TO_EVICT = ["node.recheck", "node.cordon", "node.evict", "evidence.collect"]
TO_ACT = [*TO_EVICT, "gpu.reset"]
TO_SESSION = [*TO_ACT, "node.await_session"]
WHOLE = [*TO_SESSION, "node.validate"]

act = acts.ActResult
CASES = {
    "all good": ({}, WHOLE, "repaired:True"),
    "nothing to repair any more": ({"node.recheck": acts.Proof(proven=False, gone=True)}, ["node.recheck"], "revoked:False"),
    "not proven": ({"node.recheck": acts.Proof(proven=False, reason="boot")}, ["node.recheck"], "refused:False"),
    "recheck fails": ({"node.recheck": GONE}, ["node.recheck"], "failed:False"),
    "cordon refused": ({"node.cordon": acts.CordonResult(result="refused")}, TO_EVICT[:2], "refused:False"),
    "cordon fails midway": ({"node.cordon": GONE}, [*TO_EVICT[:2], *UNDONE], "failed:False"),
    "evict refused": ({"node.evict": act(result="refused", reason="pdb")}, [*TO_EVICT, *UNDONE], "refused:False"),
    "evict unknown": ({"node.evict": act(result="unknown")}, [*TO_EVICT, *UNDONE], "unknown:False"),
    "evict crashes": ({"node.evict": GONE}, [*TO_EVICT, *UNDONE], "unknown:False"),
    "no evidence": ({"evidence.collect": GONE}, WHOLE, "repaired:True"),
    "act refused": ({"gpu.reset": act(result="refused", reason="token")}, [*TO_ACT, *UNDONE], "refused:False"),
    "interlock raises": ({"gpu.reset": ApplicationError("late", type="Refused")}, [*TO_ACT, *UNDONE], "refused:False"),
    "the machine declines": ({"gpu.reset": act(result="done", declined=True)}, TO_ACT, "failed:True"),
    "act unknown, seen": ({"gpu.reset": act(result="unknown")}, WHOLE, "repaired:True"),
    "act crashes, seen": ({"gpu.reset": GONE}, WHOLE, "repaired:True"),
    "act unknown, not seen": (
        {"gpu.reset": act(result="unknown"), "node.await_session": acts.SessionSeen(seen=False)}, TO_SESSION, "unknown:True",
    ),
    "accepted, no effect": ({"node.await_session": acts.SessionSeen(seen=False)}, TO_SESSION, "no_effect:True"),
    "observation fails": ({"node.await_session": GONE}, TO_SESSION, "failed:True"),
    "not valid": ({"node.validate": acts.Validation(passed=False, failed=("ecc",))}, WHOLE, "failed:True"),
    "validation fails": ({"node.validate": GONE}, WHOLE, "failed:True"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_each_step_ending_in_each_way(kit: Kit, name: str, case: str):
    answers, calls, end = CASES[case]
    kit.peers.script.update({action: [answer] for action, answer in answers.items()})
    async with kit.workers():
        report = await run(kit, name)
        await kit.replay(f"remediation/{name}/p1/1")
    assert sorted(kit.peers.called()) == sorted(calls)
    assert f"{report.result}:{report.acted}" == end
    outcomes = [(o.what, o.name, o.result) for o in kit.peers.ledger]
    assert len(outcomes) == len(calls), "one outcome per step and undo, all acknowledged before the end"
    if "node.uncordon" in calls:
        assert outcomes[-1] == (OutcomeKind.STEP, "cordon", "undone")


async def run(kit: Kit, name: str, remedy: Remedy = Remedy.RESET_GPU, **limits):
    """Runs one attempt as the child of an echo node and returns its last report."""
    node = f"node/{name}"
    await kit.tell(node, order(node, "go", ("start", attempt(name, remedy, **limits).model_dump(mode="json"))))
    await kit.until_seen(node, "report:ended")
    return await child(kit, name).result()


def child(kit: Kit, name: str):
    from gpuward.contracts.claims import Report

    return kit.client.get_workflow_handle(f"remediation/{name}/p1/1", result_type=Report)


async def test_requests_carry_what_is_checked_before_the_act(kit: Kit, name: str):
    async with kit.workers():
        await run(kit, name, Remedy.REBOOT_NODE)
    (reboot,) = kit.peers.called("node.reboot")
    assert (reboot.plan, reboot.attempt, tuple(reboot.token), reboot.boot_id) == ("p1", 1, (1, 1), "b1")
    assert reboot.not_after is not None
    assert reboot.guard == "pool/fleet"
    (session,) = kit.peers.called("node.await_session")
    assert (session.want, session.before_boot_id, session.before_sessions) == ("boot", "b1", {"g": "s1"})
    (validation,) = kit.peers.called("node.validate")
    assert validation.boot_id == "b2", "validated under the boot that was seen"
    steps = [(o.what, o.name, o.result) for o in kit.peers.ledger]
    assert (OutcomeKind.ACT, "node.reboot", "done") in steps
    assert all(o.entity == f"node/{name}" and o.cause.plan == "p1" for o in kit.peers.ledger)


async def test_a_stop_keeps_the_cordon_and_a_new_token_goes_on(kit: Kit, name: str):
    kit.peers.script["gpu.reset"] = [act(result="refused", reason="stop: by alice")]
    node = f"node/{name}"
    async with kit.workers():
        await kit.tell(node, order(node, "go", ("start", attempt(name).model_dump(mode="json"))))
        await kit.until_seen(node, "report:waiting_for_token")
        await child(kit, name).signal("deliver", [renewed(1), renewed(9, number=2)])
        await asyncio.sleep(0.2)
        assert "node.uncordon" not in kit.peers.called()
        await child(kit, name).signal("deliver", [renewed(2)])
        seen = await kit.until_seen(node, "report:ended:repaired:True")
        await child(kit, name).result()
        await kit.replay(f"remediation/{name}/p1/1")
    assert [tuple(request.token) for request in kit.peers.called("gpu.reset")] == [(1, 1), (1, 2)]
    reports = [s.split(":")[1] for s in seen if s.startswith("report")]
    assert reports == ["acting", "waiting_for_token", "acting", "validating", "ended"]


async def test_a_token_that_came_before_the_refusal_counts(kit: Kit, name: str):
    node = f"node/{name}"

    async def refused(_request):
        await child(kit, name).signal("deliver", [renewed(2)])
        await asyncio.sleep(0.2)
        return act(result="refused", reason="token: revoked")

    kit.peers.script["gpu.reset"] = [refused]
    async with kit.workers():
        await kit.tell(node, order(node, "go", ("start", attempt(name).model_dump(mode="json"))))
        await kit.until_seen(node, "report:ended:repaired:True")
    assert len(kit.peers.called("gpu.reset")) == 2


async def test_a_stop_that_is_never_lifted_unwinds_at_the_deadline(kit: Kit, name: str):
    kit.peers.script["node.evict"] = [act(result="refused", reason="stop: by alice")]
    async with kit.workers():
        report = await run(kit, name, remediation_deadline_s=1)
    assert (report.result, report.acted) == ("refused", False)
    assert kit.peers.called()[-1] == "node.uncordon"
    assert "gpu.reset" not in kit.peers.called()


@pytest.mark.parametrize("how", ["explained", "cancelled"])
async def test_broken_off_before_the_act_unwinds(kit: Kit, name: str, how: str):
    kit.peers.script["node.evict"] = [_slow(act(result="done"), 0.3)]
    node = f"node/{name}"
    async with kit.workers():
        await kit.tell(node, order(node, "go", ("start", attempt(name).model_dump(mode="json"))))
        await eventually(lambda: kit.peers.called("node.evict"))
        if how == "cancelled":
            await child(kit, name).cancel()
        else:
            await child(kit, name).signal("deliver", [Explained(plan="p1", attempt=1, incident="rack power")])
        await kit.until_seen(node, "report:ended:revoked:False")
        await child(kit, name).result()
    assert "gpu.reset" not in kit.peers.called()
    assert kit.peers.called()[-1] == "node.uncordon"


async def test_once_the_act_may_have_been_sent_it_is_observed_to_the_end(kit: Kit, name: str):
    kit.peers.script["gpu.reset"] = [_slow(act(result="done"), 0.3)]
    node = f"node/{name}"
    async with kit.workers():
        await kit.tell(node, order(node, "go", ("start", attempt(name).model_dump(mode="json"))))
        await eventually(lambda: kit.peers.called("gpu.reset"))
        await child(kit, name).signal("deliver", [Explained(plan="p1", attempt=1, incident="rack power")])
        await child(kit, name).cancel()
        await kit.until_seen(node, "report:ended:repaired:True")
    assert "node.uncordon" not in kit.peers.called()


async def test_an_answer_that_is_lost_is_unknown_and_never_asked_for_again(kit: Kit, name: str):
    kit.peers.script["gpu.reset"] = [TimeoutError("connection lost after sending")]
    kit.peers.script["node.await_session"] = [acts.SessionSeen(seen=False, reason="no new session")]
    async with kit.workers():
        report = await run(kit, name)
    assert (report.result, report.acted) == ("unknown", True)
    assert len(kit.peers.called("gpu.reset")) == 1
    assert "node.uncordon" not in kit.peers.called()


async def test_the_deadline_ends_an_observation_that_hangs(kit: Kit, name: str):
    kit.peers.script["node.await_session"] = [_slow(acts.SessionSeen(seen=True), 30)]
    async with kit.workers():
        report = await run(kit, name, remediation_deadline_s=1)
    assert (report.result, report.acted) == ("failed", True)
    assert "deadline" in report.why


async def test_the_ledger_away_delays_no_act_and_is_flushed_before_the_end(kit: Kit, name: str):
    kit.peers.script["ledger.append"] = [ApplicationError("Kafka is away")]
    async with kit.workers():
        await run(kit, name)
    assert len(kit.peers.ledger) == len(WHOLE)
    last_act = max(i for i, (call, _) in enumerate(kit.peers.calls) if call == "node.validate")
    appends = [i for i, (call, _) in enumerate(kit.peers.calls) if call == "ledger.append"]
    assert appends[-1] > last_act
    assert appends[0] < last_act


async def test_a_ping_brings_the_last_report_again(kit: Kit, name: str):
    release = asyncio.Event()

    async def until(_request):
        await release.wait()
        return acts.SessionSeen(seen=True, boot_id="b2")

    kit.peers.script["node.await_session"] = [until]
    node, entity = f"node/{name}", f"remediation/{name}/p1/1"
    async with kit.workers():
        await kit.tell(node, order(node, "go", ("start", attempt(name).model_dump(mode="json"))))
        await eventually(lambda: kit.peers.called("node.await_session"))
        await kit.tell(node, order(node, "look", ("look", entity)))
        await eventually(lambda: _twice(kit, node, "report:acting"))
        release.set()
        await kit.until_seen(node, "report:ended")


async def test_drain_and_ask_person(kit: Kit, name: str):
    async with kit.workers():
        asked = await run(kit, name, Remedy.ASK_PERSON)
        drained = await run(kit, f"{name}d", Remedy.DRAIN)
        neither = await run(kit, f"{name}x", Remedy.REIMAGE_NODE)
    assert (asked.result, asked.acted) == ("quarantined", False)
    assert (drained.result, drained.acted) == ("repaired", True)
    assert (neither.result, neither.acted) == ("refused", False)
    assert kit.peers.called() == [
        "node.cordon",
        "notify.person",
        "node.recheck",
        "node.cordon",
        "node.evict",
        "node.validate",
    ]


async def test_what_a_repair_costs(kit: Kit, name: str):
    async with kit.workers():
        await run(kit, name)
        cost = await transitions.of(kit.client, f"remediation/{name}/p1/1")
    assert cost.tasks <= 12
    assert cost.billable <= 15


async def _twice(kit: Kit, node: str, what: str) -> bool:
    return (await kit.seen(node)).count(what) == 2


def _slow(answer, seconds: float):
    async def answered(_request):
        await asyncio.sleep(seconds)
        return answer

    return answered
