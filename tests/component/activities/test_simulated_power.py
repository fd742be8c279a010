"""The simulated power, against a world over real HTTP."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from activities.power import Declined, Unreachable
from activities.simulated.power import SimulatedPower
from gpuward.contracts.identity import NodeId
from tests.component.activities.power_conformance import PowerConformance
from tests.component.simulator.running import Running, running_world

NODE = NodeId("r01-n01")


@dataclass
class SimulatedBench:
    running: Running
    power: SimulatedPower
    node: NodeId = NODE
    address: str = "bmc-r01-n01"

    async def acts(self, kind: str) -> int:
        return (await self.running.client.counts()).of(self.node, kind)

    async def lose_the_answer(self) -> None:
        await self.running.client.misbehave(self.node, "act_and_lose_answer")

    async def break_a_gpu(self) -> str:
        [uuid] = await self.running.client.inject(node=self.node, gpu=1, code=79)
        return uuid

    async def cordon_by_a_person(self, owner: str) -> None:
        await self.running.client.person("cordon", self.node, owner)

    def away(self) -> SimulatedPower:
        return SimulatedPower("http://127.0.0.1:9", timeout_s=1)


@pytest.fixture
async def bench():
    async with running_world(None) as running:
        power = SimulatedPower(running.url, timeout_s=3)
        yield SimulatedBench(running, power)
        await power.close()


class TestSimulatedPower(PowerConformance):
    @pytest.fixture
    def bench(self, bench):
        return bench

    async def test_a_lease_held_by_another_is_declined(self, bench) -> None:
        await bench.running.client.person("lease", bench.node, "other-controller")
        with pytest.raises(Declined, match="other-controller"):
            await bench.power.cordon(bench.node, "gpuward", "x")

    async def test_a_host_that_is_down_is_unreachable(self, bench) -> None:
        await bench.running.client.power_cycle(bench.address)
        with pytest.raises(Unreachable, match="does not answer"):
            await bench.power.host(bench.node)
        assert (await bench.power.bmc(bench.address)).power == "off"
