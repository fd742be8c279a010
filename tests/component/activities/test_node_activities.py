"""Looking, keeping off, validating: against a real world."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import orjson
import pytest
import pytest_asyncio

from activities.evidence.collect import Evidence
from activities.node.await_session import Sessions
from activities.node.keep_off import KeepOff
from activities.node.recheck import Recheck
from activities.node.validate import Validate
from gpuward.contracts.acts import AwaitSession
from gpuward.contracts.claims import Limits
from tests.component.simulator.running import eventually

NODE = "r01-n01"
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def broken(bay):
    await bay.world.inject(node=NODE, gpu=0, code=79)
    return bay


async def rebooted(bay, before: str) -> str:
    async def newer() -> str:
        nodes = {node["node"]: node for node in await bay.world.nodes()}
        return nodes[NODE]["up"] and nodes[NODE]["boot_id"] != before and nodes[NODE]["boot_id"]

    return await eventually(newer)


async def test_a_condition_that_stands_is_proven_with_the_sessions_of_before(broken) -> None:
    act = await broken.act()
    proof = await Recheck(broken.powers).recheck(act)
    assert proof.proven
    assert proof.boot_id == act.boot_id
    assert act.gpus[0] not in proof.sessions
    assert len(proof.sessions) == 7


async def test_what_has_cleared_is_gone(bay) -> None:
    proof = await Recheck(bay.powers).recheck(await bay.act())
    assert (proof.proven, proof.gone) == (False, True)


async def test_a_newer_boot_means_gone(broken) -> None:
    act = await broken.act()
    await broken.world.act(NODE, "reboot")
    await rebooted(broken, act.boot_id)
    proof = await Recheck(broken.powers).recheck(act)
    assert (proof.proven, proof.gone) == (False, True)
    assert "booted anew" in proof.reason


async def test_a_moved_gpu_is_gone_from_here(broken) -> None:
    act = await broken.act()
    await broken.world.move_gpu(act.gpus[0], "r01-n02")
    act = act.model_copy(update={"boot_id": (await broken.world.host(NODE)).boot_id})
    assert (await Recheck(broken.powers).recheck(act)).gone


@pytest.mark.parametrize("how", ["mapped_to_neighbour", "down", "unmeasurable"])
async def test_in_doubt_nothing_is_proven_and_nothing_is_gone(broken, how) -> None:
    act = await broken.act()
    if how == "mapped_to_neighbour":
        await broken.world.misbehave(NODE, how)
    elif how == "down":
        await broken.world.power_cycle(f"bmc-{NODE}")
    else:
        act = act.model_copy(update={"fault_classes": ("node.config.drifted",)})
    proof = await Recheck(broken.powers).recheck(act)
    assert (proof.proven, proof.gone) == (False, False)
    assert proof.reason


async def test_our_cordon_stands_beside_a_persons_and_goes_alone(bay) -> None:
    await bay.world.person("cordon", NODE, "person/alex")
    act, keep_off = await bay.act(), KeepOff(bay.powers)
    first, again = await keep_off.cordon(act), await keep_off.cordon(act)
    assert (first.result, first.already) == ("done", "person/alex")
    assert again == first
    await bay.world.person("cordon", NODE, "person/kim")
    assert (await keep_off.uncordon(act)).already == "person/alex, person/kim"
    assert set((await bay.world.host(NODE)).cordons) == {"person/alex", "person/kim"}


async def test_a_node_owned_by_another_is_not_cordoned(bay) -> None:
    await bay.world.person("lease", NODE, "other-controller")
    answer = await KeepOff(bay.powers).cordon(await bay.act())
    assert (answer.result, answer.reason.partition(":")[0]) == ("refused", "owner")


@pytest.mark.parametrize("limits", [Limits(mode="watch"), Limits(mode="act", dry_run=True)])
async def test_a_watched_node_is_not_cordoned(bay, limits) -> None:
    assert (await KeepOff(bay.powers).cordon(await bay.act(limits=limits))).result == "refused"
    assert await bay.untouched()


async def test_a_new_boot_is_seen_when_it_comes(broken) -> None:
    act = await broken.act()
    await broken.world.act(NODE, "reboot")
    ask = AwaitSession(
        act=act, want="boot", before_boot_id=act.boot_id, deadline=datetime.now(UTC) + timedelta(seconds=30)
    )
    seen = await Sessions(broken.powers, poll_s=0.05).await_session(ask)
    assert seen.seen
    assert seen.boot_id not in ("", act.boot_id)
    assert act.gpus[0] in seen.sessions


async def test_a_new_session_is_seen_when_it_comes(bay) -> None:
    act = await bay.act()
    before = {gpu.uuid: gpu.session for gpu in (await bay.world.host(NODE)).gpus}
    await bay.world.act(NODE, "cordon", owner="gpuward")
    await bay.world.act(NODE, "evict", mode="immediate")
    ask = AwaitSession(
        act=act, want="session", before_boot_id=act.boot_id, before_sessions=before,
        deadline=datetime.now(UTC) + timedelta(seconds=30),
    )  # fmt: skip
    none = await Sessions(bay.powers, poll_s=0.05).await_session(ask.model_copy(update={"deadline": datetime.now(UTC)}))
    assert not none.seen
    assert act.gpus[0] in none.reason

    async def idle():
        return not (await bay.world.host(NODE)).workload

    await eventually(idle)
    await bay.world.act(NODE, "reset", gpus=list(act.gpus))
    seen = await Sessions(bay.powers, poll_s=0.05).await_session(ask)
    assert seen.seen
    assert seen.sessions[act.gpus[0]] != before[act.gpus[0]]


async def test_an_effect_that_never_comes_is_not_seen(broken) -> None:
    await broken.world.misbehave(NODE, "accept_and_do_nothing")
    act = await broken.act()
    await broken.world.act(NODE, "reboot")
    deadline = datetime.now(UTC) + timedelta(seconds=0.3)
    ask = AwaitSession(act=act, want="boot", before_boot_id=act.boot_id, deadline=deadline)
    seen = await Sessions(broken.powers, poll_s=0.05).await_session(ask)
    assert (seen.seen, seen.boot_id) == (False, act.boot_id)
    assert "boot of before" in seen.reason


async def test_a_well_node_passes(bay) -> None:
    act = await bay.act()
    validation = await Validate(bay.powers, poll_s=0.05).validate(act)
    assert (validation.passed, validation.failed, validation.boot_id) == (True, (), act.boot_id)


@pytest.mark.parametrize(
    ("injection", "failed"),
    [
        ({"code": 79}, "present"),
        ({"fault": "dram"}, "remap_pending"),
        ({"code": 64}, "remap_failure"),
        ({"code": 154, "to": 2}, "recovery_action"),
        ({"code": 48}, "ecc"),
        ({"fault": "defect"}, "diagnostic"),
    ],
)
async def test_a_node_that_is_not_well_does_not_pass(bay, injection, failed) -> None:
    await bay.world.inject(node=NODE, gpu=3, **injection)
    act = await bay.act(limits=Limits(mode="act", validate_level=2), whole_node=True)
    validation = await Validate(bay.powers, poll_s=0.05).validate(act)
    assert not validation.passed
    assert failed in validation.failed
    assert (await bay.world.host(NODE)).gpus[3].uuid in validation.reason


async def test_a_reset_is_judged_by_the_gpus_it_was_for(bay) -> None:
    await bay.world.inject(node=NODE, gpu=3, code=79)
    other, same = await bay.act(), await bay.act(gpus=((await bay.world.host(NODE)).gpus[3].uuid,))
    assert (await Validate(bay.powers, poll_s=0.05).validate(other)).passed
    assert not (await Validate(bay.powers, poll_s=0.05).validate(same)).passed


async def test_under_another_boot_it_does_not_pass(bay) -> None:
    assert (await Validate(bay.powers).validate(await bay.act(boot_id="older"))).failed == ("boot",)


async def test_a_missing_gpu_does_not_pass(bay) -> None:
    act = await bay.act(gpus=("GPU-00000000-0000-0000-0000-000000000000",))
    assert (await Validate(bay.powers).validate(act)).failed == ("inventory",)


async def test_evidence_is_kept_in_a_file(broken, tmp_path) -> None:
    bundle = await Evidence(broken.powers, tmp_path).collect(await broken.act())
    kept = orjson.loads(await asyncio.to_thread(Path(urlparse(bundle.reference).path).read_bytes))
    assert any("Xid" in line for line in kept["kernel_log"])
    assert kept["host"]["gpus"][0]["state"] == "lost"


async def test_no_evidence_stops_nothing(broken, tmp_path) -> None:
    act = await broken.act()
    await broken.world.power_cycle(f"bmc-{NODE}")
    bundle = await Evidence(broken.powers, tmp_path).collect(act)
    assert (bundle.reference, bundle.text.startswith("no evidence")) == ("", True)
