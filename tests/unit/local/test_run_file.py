import os
import subprocess
import sys

import pytest

from gpuward.contracts.errors import Permanent
from gpuward.local.liveness import started_at
from gpuward.local.run_file import RunFile


def of(pid, started):
    return RunFile(
        kafka="127.0.0.1:20001",
        temporal="127.0.0.1:20002",
        temporal_ui="http://127.0.0.1:20003",
        owner_pid=pid,
        owner_started=started,
        pids={"kafka": 7},
        ports={"kafka": 20001},
        extra={"world": "http://127.0.0.1:20004"},
    )


def test_round_trip(tmp_path):
    written = of(os.getpid(), started_at(os.getpid()))
    written.save(tmp_path)
    assert RunFile.load(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_reader_sees_a_whole_file_however_often_it_is_replaced(tmp_path):
    for count in range(50):
        of(os.getpid(), started_at(os.getpid())).model_copy(update={"extra": {"n": "x" * count}}).save(tmp_path)
        assert RunFile.load(tmp_path).extra == {"n": "x" * count}


@pytest.mark.parametrize("content", [None, b"", b'{"kafka":'])
def test_none_to_read_is_one_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(Permanent, match=r"^No stack has run in .*gpuward up --data .*\.$"):
        RunFile.load(tmp_path)


def test_an_owner_that_ended_is_one_sentence_and_its_ports_are_still_known(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    of(ended.pid, 1).save(tmp_path)
    with pytest.raises(Permanent, match=rf"is not running \(process {ended.pid} has ended\).*\.$"):
        RunFile.load(tmp_path)
    assert RunFile.last(tmp_path).ports == {"kafka": 20001}


def test_a_pid_that_was_given_out_again_is_not_the_owner(tmp_path):
    of(os.getpid(), started_at(os.getpid()) - 1).save(tmp_path)
    with pytest.raises(Permanent, match="is not running"):
        RunFile.load(tmp_path)


def test_a_dead_process_that_nobody_reaped_counts_as_gone():
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert started_at(child.pid) is None
    child.wait()
