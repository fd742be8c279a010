from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gpuward.contracts.observations import KernelFaultLogged, SxidLogged, XidLogged, observation_id
from ingest.normalise import KernelLogReader, collapse

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def read(*lines: str, boot_time: datetime | None = None, step: int = 1):
    reader = KernelLogReader("boot-1", boot_time=boot_time)
    return [o for n, line in enumerate(lines) for o in reader.feed(line, sequence=n * step, default_time=NOW)]


def test_an_observation_equals_the_validated_one():
    (seen,) = read("NVRM: Xid (PCI:0000:3B:00): 79, pid=12, name=python3, GPU has fallen off the bus.")
    assert seen == XidLogged.model_validate_json(seen.to_json())
    assert seen.model_copy(update={"count": 2}).count == 2
    assert seen.model_fields_set <= set(XidLogged.model_fields)
    assert seen.id == observation_id("boot-1", 0, "xid")


def test_a_monotonic_prefix_counts_from_the_boot():
    line = "[  61.5] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    assert read(line, boot_time=NOW)[0].time == NOW + timedelta(seconds=61.5)
    assert read(line)[0].time == NOW


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("Jan  2 03:04:00 host kernel: ", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
        ("Dec 31 23:59:59 host kernel: ", datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("Feb 30 00:00:00 host kernel: ", NOW),
        ("2025-13-45T00:00:00Z host kernel: ", NOW),
        ("[999999999999.000000] ", NOW),
    ],
)
def test_times_of_the_prefix(stamp, expected):
    (seen,) = read(f"{stamp}NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", boot_time=NOW)
    assert seen.time == expected


@pytest.mark.parametrize(
    ("who", "pid", "process", "text"),
    [
        ("pid=1, name=python3, ", 1, "python3", "Ch 00000008"),
        ("pid=1, name=a, b, ", 1, "a, b", "Ch 00000008"),
        ("pid=1, name=A, B, C, ", 1, "A, B, C", "Ch 00000008"),
        ("pid=1, name=kworker/u8:2 [x.y], ", 1, "kworker/u8:2 [x.y]", "Ch 00000008"),
        ("pid='<unknown>', name=<unknown>, ", None, None, "Ch 00000008"),
        ("pid=<unknown>, name=<unknown>, ", None, None, "Ch 00000008"),
        ("pid='7', name='it, is', ", 7, "it, is", "Ch 00000008"),
        ("pid=1, ", 1, None, "Ch 00000008"),
        ("", None, None, "Ch 00000008"),
    ],
)
def test_process_names(who, pid, process, text):
    (seen,) = read(f"NVRM: Xid (PCI:0000:3b:00): 45, {who}{text} caused by previous Xid 48")
    assert (seen.pid, seen.process, seen.caused_by) == (pid, process, 48)


def test_fallen_off_the_bus_is_told_again_after_five_minutes():
    xid = "[10.0] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    line = "[{}.0] NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
    seen = read(xid, line.format(20), line.format(309), line.format(311), boot_time=NOW)
    assert [type(o) for o in seen] == [XidLogged, KernelFaultLogged]


SXID = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, "


def test_an_sxid_counts_once_and_a_second_one_again():
    head, level, data = f"{SXID}Fatal, Link 28 timeout", f"{SXID}Severity 1 Engine instance 28", f"{SXID}Data {{0x1}}"
    assert len(read(head, level, data)) == 1
    assert len(read(head, level, data, head, level, data)) == 2
    assert len(read(head, level, data, level, data)) == 2
    assert len(read(data, data)) == 1


def test_a_continuation_without_head_says_the_severity():
    seen = read(f"{SXID}Severity 1 Engine instance 28", f"{SXID}Severity 0 Engine instance 28")
    assert [o.severity for o in seen if isinstance(o, SxidLogged)] == ["fatal", "non_fatal"]


def test_a_continuation_far_behind_its_head_is_another_event():
    assert len(read(f"{SXID}Fatal, Link 28 timeout", f"{SXID}Severity 1 Engine instance 28", step=1000)) == 2


def test_a_probe_failure_without_its_first_line_names_no_device():
    tail = "NVRM: fallen off the bus and is not responding to commands."
    assert [o.device for o in read(tail)] == [None]
    assert [o.device for o in read("NVRM: The NVIDIA GPU 0000:af:00.0", tail, tail)] == ["0000:af:00.0", None]


def test_flush_forgets_what_was_half_read():
    reader = KernelLogReader("b")
    reader.feed("NVRM: The NVIDIA GPU 0000:af:00.0", sequence=1, default_time=NOW)
    assert reader.flush() == []
    (seen,) = reader.feed("NVRM: fallen off the bus and is not responding", sequence=2, default_time=NOW)
    assert seen.device is None


def test_long_texts_are_cut_but_read_whole():
    (seen,) = read(f"NVRM: Xid (PCI:0000:3b:00): 94, {'x' * 600} RST: Yes, D-RST: No")
    assert len(seen.text) == 512
    assert (seen.reset_required, seen.drain_reset_required) == (True, False)


def test_identical_lines_collapse_with_their_range():
    line = "NVRM: Xid (PCI:0000:3b:00): 45, pid=1, name=python3, Ch 00000008"
    other = line.replace("3b", "3c")
    first, second = collapse(read(line, other, line, "nothing", line))
    assert (first.count, first.sequence, first.id) == (3, (0, 4), observation_id("boot-1", 0, "xid"))
    assert (second.count, second.sequence) == (1, (1, 1))


def test_lines_that_differ_only_behind_the_cut_stay_apart():
    line = f"NVRM: Xid (PCI:0000:3b:00): 94, {'x' * 600} RST: "
    assert [o.count for o in collapse(read(f"{line}Yes", f"{line}No", f"{line}Yes"))] == [2, 1]
