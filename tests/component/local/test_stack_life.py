"""Stacks that begin and end: the same data again, and what a crash of their owner leaves behind."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from temporalio.client import Client

from gpuward.contracts.errors import Permanent
from gpuward.local.liveness import started_at
from gpuward.local.run_file import RunFile
from gpuward.local.stack import LocalStack

OWNER = """
import asyncio, sys
from pathlib import Path
from gpuward.local.stack import LocalStack

async def main():
    async with LocalStack(Path(sys.argv[1])):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def own(data_dir):
    return subprocess.Popen([sys.executable, "-c", OWNER, str(data_dir)], stdout=subprocess.PIPE, text=True)


async def gone(pid):
    """Returns when the process has ended, whoever its parent is."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(fd, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), 20)
    finally:
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


async def test_killed_owner_leaves_no_orphan_and_the_next_stack_goes_on(tmp_path):
    owner = own(tmp_path)
    with owner.stdout:
        assert await asyncio.to_thread(owner.stdout.readline) == "ready\n"
    first = RunFile.load(tmp_path)
    client = await Client.connect(first.temporal)
    await client.start_workflow("nobody-runs-it", id="kept", task_queue="none")

    owner.send_signal(signal.SIGKILL)
    owner.wait()
    with pytest.raises(Permanent, match="is not running"):
        RunFile.load(tmp_path)

    # At once, while the kernel may still be ending the servers: the next stack waits for them by itself.
    async with LocalStack(tmp_path) as second:
        await asyncio.gather(*map(gone, first.pids.values()))
        assert second.run_file.ports == first.ports
        assert set(second.run_file.pids.values()).isdisjoint(first.pids.values())
        await (await Client.connect(second.temporal.address)).get_workflow_handle("kept").describe()
        pids = second.run_file.pids
    assert not any(map(started_at, pids.values()))
    assert RunFile.last(tmp_path).ports == first.ports


async def test_a_server_that_does_not_come_up_takes_the_other_down_and_shows_its_log(tmp_path):
    (tmp_path / "kafka" / "log").mkdir(parents=True)
    (tmp_path / "kafka" / "formatted").write_text("a lie\n")
    with pytest.raises(
        Permanent, match=r"(?s)^kafka ended while it started, with status 1\. .*logs/kafka\.log:\n.*meta\.properties"
    ):
        async with LocalStack(tmp_path):
            pytest.fail("entered")
    with pytest.raises(Permanent, match="No stack has run in"):
        RunFile.load(tmp_path)
