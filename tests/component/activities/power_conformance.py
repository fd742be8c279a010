"""What every power must do, run against a real peer. A power's test file subclasses this and gives it a `bench`."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from activities.power import Declined, Power, Unanswered, Unreachable, Unsent
from gpuward.contracts.identity import NodeId
from tests.component.simulator.running import eventually


class Bench(Protocol):
    """A power and its peer: one idle node that may be disturbed, and what reached its machines."""

    power: Power
    node: NodeId
    address: str

    async def acts(self, kind: str) -> int: ...
    async def lose_the_answer(self) -> None: ...
    async def break_a_gpu(self) -> str: ...
    async def cordon_by_a_person(self, owner: str) -> None: ...
    def away(self) -> Power: ...


class PowerConformance:
    @pytest.fixture
    def bench(self) -> Bench:
        raise NotImplementedError

    async def test_the_address_is_provable_both_ways(self, bench: Any) -> None:
        host = await bench.power.host(bench.node)
        assert (await bench.power.bmc(bench.address)).system_uuid == host.smbios_uuid
        assert host.boot_id
        assert len(host.gpus) == host.expected_gpus > 0
        assert set(host.sessions) == {gpu.uuid for gpu in host.gpus}

    async def test_a_reset_renews_the_session_of_that_gpu_only(self, bench: Any) -> None:
        await self._idle(bench)
        before = await bench.power.host(bench.node)
        uuid = before.gpus[0].uuid
        await bench.power.reset_gpus(bench.node, (uuid,))

        async def renewed() -> bool:
            return (await bench.power.host(bench.node)).sessions.get(uuid) not in (None, before.sessions[uuid])

        await eventually(renewed)
        after = await bench.power.host(bench.node)
        assert after.boot_id == before.boot_id
        assert {k: v for k, v in after.sessions.items() if k != uuid} == {
            k: v for k, v in before.sessions.items() if k != uuid
        }
        assert await bench.acts("reset") == 1

    @pytest.mark.parametrize("how", ["reboot", "power_cycle"])
    async def test_a_reboot_renews_boot_and_sessions(self, bench: Any, how: str) -> None:
        before = await bench.power.host(bench.node)
        await (bench.power.reboot(bench.node) if how == "reboot" else bench.power.power_cycle(bench.address))

        async def up() -> bool:
            try:
                return (await bench.power.host(bench.node)).boot_id != before.boot_id
            except Unreachable:
                return False

        await eventually(up)
        after = await bench.power.host(bench.node)
        assert not set(after.sessions.values()) & set(before.sessions.values())
        assert after.smbios_uuid == before.smbios_uuid
        assert await bench.acts(how) == 1

    async def test_asking_twice_does_it_twice(self, bench: Any) -> None:
        await bench.power.power_cycle(bench.address)
        await bench.power.power_cycle(bench.address)
        assert await bench.acts("power_cycle") == 2

    async def test_what_the_machine_declines_is_declined(self, bench: Any) -> None:
        await self._idle(bench)
        lost = await bench.break_a_gpu()
        with pytest.raises(Declined):
            await bench.power.reset_gpus(bench.node, (lost,))
        gpu = (await bench.power.host(bench.node)).gpu(lost)
        assert gpu is not None
        assert (gpu.state, gpu.recovery_action, gpu.session) == ("lost", None, None)

    async def test_a_lost_answer_is_unanswered_and_the_act_happened(self, bench: Any) -> None:
        await bench.lose_the_answer()
        with pytest.raises(Unanswered):
            await bench.power.reboot(bench.node)
        assert await bench.acts("reboot") == 1

    async def test_a_controller_that_is_away_is_told_apart(self, bench: Any) -> None:
        away = bench.away()
        for act in (away.reboot(bench.node), away.power_cycle(bench.address), away.reset_gpus(bench.node, ("GPU-x",))):
            with pytest.raises(Unsent):
                await act
        with pytest.raises(Unsent):
            await away.evict(bench.node, "immediate", 0)
        for look in (away.host(bench.node), away.bmc(bench.address), away.kernel_log(bench.node, 1)):
            with pytest.raises(Unreachable):
                await look
        with pytest.raises(Unreachable):
            await away.cordon(bench.node, "gpuward", "x")
        with pytest.raises(Unreachable):
            await away.uncordon(bench.node, "gpuward")

    async def test_cordons_stand_beside_each_other(self, bench: Any) -> None:
        await bench.cordon_by_a_person("person/alex")
        for _ in range(2):
            ours = await bench.power.cordon(bench.node, "gpuward", "plan 1")
            assert list(ours.others) == ["person/alex"]
        assert set((await bench.power.host(bench.node)).cordons) == {"person/alex", "gpuward"}
        for _ in range(2):
            left = await bench.power.uncordon(bench.node, "gpuward")
            assert list(left.others) == ["person/alex"]
        host = await bench.power.host(bench.node)
        assert (set(host.cordons), host.lease) == ({"person/alex"}, "")

    async def test_evicted_work_is_gone(self, bench: Any) -> None:
        assert (await bench.power.host(bench.node)).workload
        await self._idle(bench)

    async def test_a_diagnostic_ends(self, bench: Any) -> None:
        assert await bench.power.diagnosis(bench.node) is None
        await bench.power.diagnose(bench.node, 1)

        async def ended() -> bool:
            found = await bench.power.diagnosis(bench.node)
            return found is not None and found.passed is not None

        await eventually(ended)
        found = await bench.power.diagnosis(bench.node)
        assert found is not None
        assert (found.level, found.passed, found.failed) == (1, True, ())

    async def test_the_kernel_log_can_be_kept(self, bench: Any) -> None:
        lines = await bench.power.kernel_log(bench.node, 5)
        assert len(lines) == 5

    async def _idle(self, bench: Any) -> None:
        await bench.power.cordon(bench.node, "gpuward", "test")
        await bench.power.evict(bench.node, "immediate", 0)

        async def idle() -> bool:
            return not (await bench.power.host(bench.node)).workload

        await eventually(idle)
