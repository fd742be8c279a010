"""The world process: what its door answers, what it counts, and that it goes on after it was ended."""

from __future__ import annotations

import pytest

from gpuward.contracts.errors import Permanent, Transient
from tests.component.simulator.running import eventually, running_world

NODE = "r01-n01"


async def test_a_host_that_reboots_is_away_and_comes_back_under_a_new_boot(door) -> None:
    before = await door.client.host(NODE)
    await door.client.act(NODE, "reboot")

    async def away() -> bool:
        try:
            await door.client.host(NODE)
        except Transient as down:
            return "does not answer" in str(down)
        return False

    await eventually(away)
    bmc = await door.client.bmc(f"bmc-{NODE}")
    assert bmc.system_uuid == before.smbios_uuid

    async def back() -> bool:
        try:
            return (await door.client.host(NODE)).boot_id != before.boot_id
        except Transient:
            return False

    await eventually(back)
    after = await door.client.host(NODE)
    assert {gpu.uuid for gpu in after.gpus} == {gpu.uuid for gpu in before.gpus}
    assert not {gpu.session for gpu in after.gpus} & {gpu.session for gpu in before.gpus}
    assert (await door.client.kernel(NODE))[0]["sequence"] == 0


async def test_it_counts_what_reaches_it(door) -> None:
    await door.client.power_cycle(f"bmc-{NODE}")
    await door.client.power_cycle(f"bmc-{NODE}")
    with pytest.raises(Transient):
        await door.client.act(NODE, "reboot")
    counts = await door.client.counts()
    assert counts.of(NODE, "power_cycle") == 2
    assert counts.of(NODE, "reboot") == 1
    assert counts.of("r01-n02", "reboot") == 0
    assert [act.kind for act in counts.acts] == ["power_cycle", "power_cycle", "reboot"]


async def test_a_lost_answer_is_no_answer_and_the_act_happened(door) -> None:
    await door.client.misbehave(NODE, "act_and_lose_answer")
    with pytest.raises(Transient, match="did not answer"):
        await door.client.act(NODE, "reboot")
    assert (await door.client.counts()).of(NODE, "reboot") == 1


async def test_it_goes_on_where_it_was(tmp_path) -> None:
    path = tmp_path / "world.json"
    async with running_world(path) as first:
        await first.client.inject(node=NODE, gpu=2, code=79)
        await first.client.person("cordon", NODE, reason="mine")
        await first.client.act(NODE, "evict", mode="immediate")
        before, lines = await first.client.host(NODE), await first.client.kernel(NODE)
    async with running_world(path, seed=99) as second:
        after = await second.client.host(NODE)
        assert after.boot_id == before.boot_id
        assert after.gpus[2].state == "lost"
        assert after.cordons == {"person/alex": "mine"}
        assert await second.client.kernel(NODE) == lines
        assert (await second.client.counts()).of(NODE, "evict") == 1


async def test_what_was_answered_is_in_the_file_at_once(tmp_path) -> None:
    path = tmp_path / "world.json"
    async with running_world(path) as running:
        await running.client.act(NODE, "cordon", owner="gpuward", reason="x")
        assert b'"gpuward":"x"' in path.read_bytes()


async def test_an_unreadable_file_is_said_in_a_sentence(tmp_path) -> None:
    path = tmp_path / "world.json"
    path.write_text("{")
    with pytest.raises(Permanent, match="move the file away"):
        async with running_world(path):
            pass


async def test_wrong_questions_get_sentences(door) -> None:
    for ask in (
        door.client.host("r99-n99"),
        door.client.bmc("bmc-none"),
        door.client.inject(node=NODE, fault="gremlin"),
        door.client.inject(nonsense=1),
        door.client.misbehave(NODE, "sulk"),
        door.client.act(NODE, "evict", mode="politely"),
        door.client.act(NODE, "dance"),
    ):
        with pytest.raises(Permanent):
            await ask


async def test_a_storm_of_lines_is_taken_whole(door) -> None:
    await door.client.inject(rack="r01", code=45, count=20_000)
    first = await door.client.poll()
    rest = await door.client.poll(first.cursors)
    assert sum(": 45," in line[5] for line in [*first.lines, *rest.lines]) == 20_000
