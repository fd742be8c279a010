"""Law 2: the process is killed on each line between two effects; the act has reached the machine at most once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

NODE = "r01-n01"
pytestmark = pytest.mark.asyncio(loop_scope="session")

SCRIPT = """
import asyncio, sys
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from activities.interlock import Interlock
from activities.node.acts import Acts
from activities.simulated.power import SimulatedPower
from gpuward.contracts.acts import NodeAct

async def main(temporal, world, act):
    client = await Client.connect(temporal, data_converter=pydantic_data_converter)
    power = SimulatedPower(world)
    answer = await Acts(Interlock(client, {"simulated": power})).reboot(NodeAct.model_validate_json(act))
    print(answer.result)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("failpoint", "sent"), [("begin accepted", 0), ("act called", 1), ("answer returned", 1), (None, 1)]
)
async def test_killed_between_two_effects(bay, failpoint, sent) -> None:
    await bay.world.inject(node=NODE, gpu=0, code=79)
    await bay.guard_says("begun")
    act = await bay.act()
    environment = {**os.environ, **({"GPUWARD_FAILPOINT": failpoint} if failpoint else {})}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SCRIPT,
        bay.client.service_client.config.target_host,
        bay.running.url,
        act.to_json().decode(),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == (-signal.SIGKILL if failpoint else 0)
    assert said.decode().strip() == ("" if failpoint else "done")
    assert (await bay.world.counts()).of(NODE, "reboot") == sent
    assert len(await bay.asked()) == 1
