from __future__ import annotations

import asyncio
import os
import signal

import pytest

from gpuward.console.live.crew import Crew
from gpuward.console.live.readiness import ask

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def ready(data, name: str) -> str:
    """The address of the process once it says that it is ready."""
    async with asyncio.timeout(40):
        while True:
            (state,) = await ask(data, [name])
            if state.problem is None and state.address:
                return state.address
            await asyncio.sleep(0.1)


async def test_a_process_that_dies_is_started_again_and_said(settings):
    said: list[str] = []
    crew = Crew(settings.data, {}, said.append)
    crew.start("projector")
    try:
        await ready(settings.data, "projector")
        first = crew.pids()["projector"]
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(40):
            while crew.pids().get("projector", first) == first:
                await asyncio.sleep(0.05)
        await ready(settings.data, "projector")
        assert said == [
            f"projector was killed by signal 9 and is started again; its log is {settings.data / 'logs' / 'projector.log'}."
        ]
        assert crew.deaths == {"projector": 1}
    finally:
        await crew.stop()
    assert crew.pids() == {}


async def test_who_has_not_started_is_named(tmp_path):
    (state,) = await ask(tmp_path, ["bridge"])
    assert state.problem == "bridge has not started"


async def test_an_address_where_nobody_answers_is_named(tmp_path):
    (tmp_path / "health").mkdir()
    (tmp_path / "health" / "bridge").write_text("http://127.0.0.1:9\n")
    (state,) = await ask(tmp_path, ["bridge"])
    assert state.problem is not None
    assert "does not answer at http://127.0.0.1:9" in state.problem
