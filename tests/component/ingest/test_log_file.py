"""The file follower on real files and pipes: growth, rotation, truncation, restarts."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.collectors.kernel_log import KMSG, KernelLogCollector, KernelLogFileCollector, kernel_log
from ingest.collectors.log_file import LogFile

NOW = datetime(2026, 1, 2, tzinfo=UTC)
MUCH = 1 << 20


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "kern.log"


def texts(file: LogFile, most: int = MUCH) -> list[str]:
    return [line.text for line in file.read(most)]


def add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write(text)


def xid(number: int) -> str:
    return f"NVRM: Xid (PCI:0000:3b:00): {number}, text\n"


def test_a_file_that_is_not_there_yet_is_empty(log):
    file = LogFile(log)
    assert texts(file) == []
    add(log, "one\n")
    assert texts(file) == ["one"]


def test_only_whole_lines_come_out(log):
    file = LogFile(log)
    add(log, "one\ntw")
    assert texts(file) == ["one"]
    add(log, "o\r\nthree\n")
    assert texts(file) == ["two", "three"]


def test_rotation_reads_the_rest_of_the_old_file_first(log):
    file = LogFile(log)
    add(log, "a1\n")
    assert texts(file) == ["a1"]
    add(log, "a2\na3 without end")
    log.rename(log.with_suffix(".1"))
    add(log, "b1\n")
    assert [(line.number, line.text) for line in file.read(MUCH)] == [(2, "a2"), (3, "a3 without end"), (1, "b1")]


def test_truncation_begins_anew(log):
    file = LogFile(log)
    add(log, "a1\na2\n")
    assert len(texts(file)) == 2
    log.write_text("b1\n")
    assert [(line.number, line.text) for line in file.read(MUCH)] == [(1, "b1")]


def test_truncation_is_seen_when_the_file_grew_past_the_old_end(log):
    file = LogFile(log)
    add(log, "a1\n")
    texts(file)
    log.write_text("b1\nb2\nb3\n")
    assert texts(file) == ["b1", "b2", "b3"]


def test_a_restart_numbers_the_lines_the_same_way(log):
    add(log, "one\ntwo\n")
    assert list(LogFile(log).read(MUCH)) == list(LogFile(log).read(MUCH))


def test_a_poll_reads_a_bounded_amount_and_the_next_goes_on(log):
    add(log, "".join(f"line {n}\n" for n in range(1000)))
    file = LogFile(log)
    seen = [texts(file, 100) for _ in range(200)]
    assert len(seen[0]) < 20
    assert [text for part in seen for text in part] == [f"line {n}" for n in range(1000)]


def test_a_line_without_end_does_not_fill_the_memory(log):
    file = LogFile(log)
    log.write_bytes(b"x" * 300_000)
    assert [len(text) for text in texts(file)] == [1 << 16]
    add(log, "rest\nnext\n")
    assert texts(file) == ["next"]


def test_bytes_that_are_no_text_are_kept_apart(log):
    log.write_bytes(b"\xff\xfe one\ntwo\n")
    assert texts(LogFile(log))[1] == "two"


def test_a_pipe(log):
    os.mkfifo(log)
    file = LogFile(log)
    assert texts(file) == []
    writer = os.open(log, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, b"one\ntwo\n")
    assert texts(file) == ["one", "two"]
    assert texts(file) == []
    os.write(writer, b"three\n")
    os.close(writer)
    assert texts(file) == ["three"]
    file.close()


def test_the_same_lines_have_the_same_ids_after_a_restart(log):
    add(log, xid(79) + "other\n" + xid(48))
    first = [(o.id, o.sequence) for o in KernelLogFileCollector(log, clock=lambda: NOW).poll()]
    second = [(o.id, o.sequence) for o in KernelLogFileCollector(log, clock=lambda: NOW).poll()]
    assert first == second
    assert [sequence for _, sequence in first] == [(1, 1), (3, 3)]


@pytest.mark.parametrize("boot_id", ["", "the-running-boot"])
def test_a_rotated_file_never_repeats_ids(log, boot_id):
    collector = KernelLogFileCollector(log, boot_id=boot_id, clock=lambda: NOW)
    add(log, f"first\n{xid(79)}")
    before = list(collector.poll())
    log.rename(log.with_suffix(".1"))
    add(log, f"second\n{xid(79)}")
    after = list(collector.poll())
    assert len({o.id for o in before + after}) == 2
    assert {o.boot_id for o in before + after} == {boot_id} if boot_id else before[0].boot_id != after[0].boot_id
    assert before[0].sequence != after[0].sequence or not boot_id
    collector.close()


def test_the_path_chooses_the_collector(log):
    assert isinstance(kernel_log(KMSG), KernelLogCollector)
    assert isinstance(kernel_log(log), KernelLogFileCollector)


@pytest.mark.skipif(not os.access(KMSG, os.R_OK), reason="no /dev/kmsg to read here")
def _kmsg_is_readable() -> bool:
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _kmsg_is_readable(), reason="the kernel log of this machine may not be read by this user")
def test_the_real_kernel_log_gives_the_same_ids_when_it_is_read_again():
    first, again = KernelLogCollector(), KernelLogCollector()
    try:
        assert first.supported()
        seen = [observation.id for observation in first.poll()]
        assert len(set(seen)) == len(seen)
        assert {observation.id for observation in again.poll()} >= set(seen)
    finally:
        first.close()
        again.close()
