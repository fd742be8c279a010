import os
import signal
import subprocess
import sys

import pytest

from gpuward.runtime import failpoints

SCRIPT = "from gpuward.runtime.failpoints import hit; hit('act called'); print('one', flush=True); hit('act called'); print('two')"


def run(**env):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


def test_nothing_happens_unless_it_is_asked_for():
    assert run().stdout == "one\ntwo\n"


def test_the_nth_pass_kills_and_only_once(tmp_path):
    wanted = {"GPUWARD_FAILPOINT": "act called:2", "GPUWARD_FAILPOINT_ONCE": str(tmp_path / "died")}
    first, second = run(**wanted), run(**wanted)
    assert (first.returncode, first.stdout) == (-signal.SIGKILL, "one\n")
    assert (second.returncode, second.stdout) == (0, "one\ntwo\n")


def test_a_name_that_does_not_exist_is_a_defect():
    with pytest.raises(KeyError):
        failpoints.hit("no such point")
