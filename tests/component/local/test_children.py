import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from gpuward.local import tether
from gpuward.local.children import Child

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
]


def proc(child, name):
    return Path(f"/proc/{child.pid}/{name}").read_text(encoding="utf-8")


def end_of(thread):
    """Python's join returns a little before the kernel ends the thread, and the kernel's end is what is meant."""
    while Path(f"/proc/self/task/{thread.native_id}").exists():
        time.sleep(0.005)


async def up(child):
    """Its first line of output is the event; there is no other way to hear of it but to read the log."""
    while "up" not in child.last_lines():
        assert child.running, child.last_lines()
        await asyncio.sleep(0.01)
    return child


async def test_stop_asks_first(tmp_path):
    child = await up(Child.start("sleep", SLEEP, log=tmp_path / "sleep.log"))
    assert await child.stop() == -signal.SIGTERM
    assert not child.running


async def test_stop_kills_whoever_does_not_listen(tmp_path):
    child = await up(Child.start("deaf", DEAF, log=tmp_path / "deaf.log"))
    assert await child.stop(grace_s=0.1) == -signal.SIGKILL


async def test_the_command_keeps_the_pid_and_leads_its_own_session(tmp_path):
    child = await up(Child.start("sleep", SLEEP, log=tmp_path / "sleep.log"))
    assert "time.sleep" in proc(child, "cmdline")
    assert os.getsid(child.pid) == child.pid != os.getsid(0)
    await child.kill()


async def test_last_lines_are_of_this_run_only(tmp_path):
    log = tmp_path / "say.log"
    for word in ("first", "second"):
        child = Child.start("say", [sys.executable, "-c", f"print('{word}')"], log=log)
        assert await child.wait() == 0
        assert child.last_lines() == word
    assert log.read_text() == "first\nsecond\n"


async def test_a_command_that_is_not_there_says_so(tmp_path):
    child = Child.start("none", ["/no/such/program"], log=tmp_path / "none.log")
    assert await child.wait() == tether.EXIT_UNTETHERED
    assert "/no/such/program" in child.last_lines()


async def test_a_child_outlives_the_thread_that_started_it(tmp_path):
    # The kernel's parent-death signal is about threads: a loop that ran in another thread must not take children along.
    children = []

    async def start():
        children.append(await up(Child.start("sleep", SLEEP, log=tmp_path / "sleep.log")))

    thread = threading.Thread(target=lambda: asyncio.run(start()))
    thread.start()
    await asyncio.to_thread(end_of, thread)
    (child,) = children
    assert proc(child, "stat").rpartition(")")[2].split()[0] in "RS"
    os.kill(child.pid, signal.SIGKILL)


def test_a_tether_whose_parent_is_gone_already_runs_nothing(tmp_path):
    marker = tmp_path / "ran"
    not_our_pid = os.getppid()
    ended = subprocess.run([sys.executable, tether.__file__, str(not_our_pid), "touch", str(marker)], check=False)
    assert ended.returncode == tether.EXIT_UNTETHERED
    assert not marker.exists()
