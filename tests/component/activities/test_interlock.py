"""The interlock against a real world and a real Temporal: each refusal touches nothing, each act is sent once."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from activities.node.acts import Acts
from activities.simulated.power import SimulatedPower
from gpuward.contracts.claims import Limits
from gpuward.contracts.seat import Address

NODE = "r01-n01"
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def broken(bay):
    """Its first GPU is off the bus, the guard says yes."""
    await bay.world.inject(node=NODE, gpu=0, code=79)
    await bay.guard_says("begun")
    return bay


async def reboot(bay, act):
    return await Acts(bay.interlock, poll_s=0.05).reboot(act)


async def test_an_act_that_passes_everything_is_sent_once(broken) -> None:
    act = await broken.act()
    answer = await reboot(broken, act)
    assert (answer.result, answer.declined) == ("done", False)
    counts = await broken.world.counts()
    assert [(counted.node, counted.kind) for counted in counts.acts] == [(NODE, "reboot")]
    [asked] = await broken.asked()
    assert (asked.plan, asked.attempt, asked.token, asked.boot_id, asked.act) == (
        "p1",
        1,
        act.token,
        act.boot_id,
        "node.reboot",
    )


WATCH = Limits(mode="watch")
DRY = Limits(mode="act", dry_run=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"limits": WATCH}, "mode"),
        ({"limits": DRY}, "dry-run"),
        ({"token": None}, "token"),
        ({"guard": None}, "token"),
        ({"not_after": None}, "token"),
        ({"boot_id": ""}, "token"),
        ({"not_after": datetime(2020, 1, 1, tzinfo=UTC)}, "deadline"),
        ({"boot_id": "an-earlier-boot"}, "boot"),
        ({"gpus": ("GPU-00000000-0000-0000-0000-000000000000",)}, "condition"),
        ({"fault_classes": ("gpu.xid.48",)}, "condition"),
        ({"fault_classes": ("gpu.memory.remap_pending",)}, "condition"),
        ({"fault_classes": ("node.config.drifted",)}, "condition"),
        ({"fault_classes": ()}, "condition"),
        ({"node": "r01-n02"}, "identity"),
    ],
)
async def test_what_is_wrong_on_the_act_is_refused(refusing_bay, changes, reason) -> None:
    answer = await reboot(refusing_bay, await refusing_bay.act(**changes))
    assert answer.result == "refused"
    assert answer.reason.startswith(reason)
    assert await refusing_bay.untouched()
    assert not await refusing_bay.asked()


@pytest.mark.parametrize(
    ("seat", "reason"),
    [
        ({"rack": None}, "seat"),
        ({"pool": None}, "seat"),
        ({"address": Address()}, "seat"),
        ({"address": Address(provider="simulated", bmc=f"bmc-{NODE}")}, "seat"),
        ({"address": Address(provider="redfish", bmc="b", smbios_uuid="u")}, "seat"),
        ({"address": Address(provider="simulated", bmc=f"bmc-{NODE}", smbios_uuid="another")}, "identity"),
        ({"address": Address(provider="simulated", bmc="bmc-none", smbios_uuid="another")}, "identity"),
    ],
)
async def test_a_seat_that_proves_nothing_is_refused(refusing_bay, seat, reason) -> None:
    act = await refusing_bay.act()
    answer = await reboot(refusing_bay, act.model_copy(update={"seat": act.seat.model_copy(update=seat)}))
    assert answer.result == "refused"
    assert answer.reason.startswith(reason)
    assert await refusing_bay.untouched()


async def test_a_bmc_mapped_to_the_neighbour_is_refused(broken) -> None:
    await broken.world.misbehave(NODE, "mapped_to_neighbour")
    answer = await Acts(broken.interlock).power_cycle(await broken.act())
    assert answer.result == "refused"
    assert "not in r01-n01" in answer.reason
    assert await broken.untouched()


async def test_a_host_that_is_down_proves_nothing(broken) -> None:
    act = await broken.act()
    await broken.world.power_cycle(f"bmc-{NODE}")
    answer = await Acts(broken.interlock).power_cycle(act)
    assert (answer.result, answer.reason.partition(":")[0]) == ("refused", "identity")
    assert (await broken.world.counts()).of(NODE, "power_cycle") == 1


async def test_a_gpu_that_moved_away_is_not_acted_on_here(broken) -> None:
    act = await broken.act()
    await broken.world.move_gpu(act.gpus[0], "r01-n02")
    moved = act.model_copy(update={"boot_id": (await broken.world.host(NODE)).boot_id})
    answer = await reboot(broken, moved)
    assert answer.reason.endswith("does not sit on r01-n01")
    assert await broken.untouched()


async def test_each_gpu_that_would_be_reset_shows_the_condition(bay) -> None:
    await bay.guard_says("begun")
    await bay.world.inject(node=NODE, gpu=0, fault="dram")
    host = await bay.world.host(NODE)
    both = (host.gpus[0].uuid, host.gpus[1].uuid)
    act = await bay.act(gpus=both, fault_classes=("gpu.xid.48",))
    answer = await Acts(bay.interlock).reset(act)
    assert answer.result == "refused"
    assert both[1] in answer.reason
    assert await bay.untouched()


@pytest.mark.parametrize("says", ["stop: by alex", "token: revoked", "again: node.reboot has begun"])
async def test_the_guard_has_the_last_word(bay, says) -> None:
    await bay.world.inject(node=NODE, gpu=0, code=79)
    await bay.guard_says(says)
    answer = await reboot(bay, await bay.act())
    assert (answer.result, answer.reason) == ("refused", says)
    assert await bay.untouched()


async def test_no_guard_is_no(bay) -> None:
    await bay.world.inject(node=NODE, gpu=0, code=79)
    answer = await reboot(bay, await bay.act())
    assert (answer.result, answer.reason.partition(":")[0]) == ("refused", "guard")
    assert await bay.untouched()


async def test_a_guard_that_does_not_answer_within_five_seconds_is_no(bay) -> None:
    await bay.world.inject(node=NODE, gpu=0, code=79)
    await bay.guard_says("mute")
    started = time.monotonic()
    answer = await reboot(bay, await bay.act())
    assert 4 < time.monotonic() - started < 30
    assert (answer.result, answer.reason.partition(":")[0]) == ("refused", "guard")
    assert await bay.untouched()


async def test_the_deadline_is_looked_at_again_after_the_guard_answered(broken) -> None:
    act = await broken.act()
    times = iter([datetime.now(UTC), act.not_after + timedelta(seconds=1)])
    broken.interlock._clock = lambda: next(times)
    answer = await reboot(broken, act)
    assert answer.reason.startswith("deadline")
    assert await broken.untouched()


async def test_a_lost_answer_is_unknown_and_never_sent_again(broken) -> None:
    await broken.world.misbehave(NODE, "act_and_lose_answer")
    answer = await reboot(broken, await broken.act())
    assert answer.result == "unknown"
    assert (await broken.world.counts()).of(NODE, "reboot") == 1


async def test_what_the_machine_declines_is_done_without_an_effect(broken) -> None:
    await Acts(broken.interlock, poll_s=0.05).evict(await broken.act())
    answer = await Acts(broken.interlock).reset(await broken.act())
    assert (answer.result, answer.declined) == ("done", True)
    assert "GPU_IS_LOST" in answer.reason


async def test_an_act_that_cannot_leave_is_refused(broken) -> None:
    away = SimulatedPower("http://127.0.0.1:9", timeout_s=1)
    broken.power.reboot = away.reboot
    answer = await reboot(broken, await broken.act())
    assert (answer.result, answer.reason.partition(":")[0]) == ("refused", "unsent")
    assert await broken.untouched()


async def test_an_eviction_ends_when_the_work_is_gone(broken) -> None:
    answer = await Acts(broken.interlock, poll_s=0.05).evict(await broken.act())
    assert answer.result == "done"
    assert not (await broken.world.host(NODE)).workload


async def test_an_eviction_that_does_not_take_is_unknown(broken) -> None:
    await broken.world.misbehave(NODE, "accept_and_do_nothing", acts=["evict"])
    limits = Limits(mode="act", evict_deadline_s=0.2)
    answer = await Acts(broken.interlock, poll_s=0.05, margin_s=0.2).evict(await broken.act(limits=limits))
    assert answer.result == "unknown"
