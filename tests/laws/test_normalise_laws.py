"""Laws of the kernel log's normaliser: it never crashes, it is deterministic, and collapsing loses no count."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuward.contracts.observations import ObservationBatch
from ingest.normalise import KernelLogReader, collapse

NOW = datetime(2026, 1, 2, tzinfo=UTC)
GOLDEN = (Path(__file__).parents[1] / "golden/kernel_log/kernel.log").read_text(encoding="utf-8").splitlines()

fragments = st.sampled_from(
    [
        "NVRM: ",
        "Xid (",
        "PCI:",
        "0000:3b:00",
        "): ",
        "79, ",
        "pid=",
        "name=",
        "'",
        ", ",
        "<unknown>",
        "SXid (",
        "[1.5] ",
        "nvidia-nvswitch0: ",
        "AER: ",
        "PCIe Bus Error: severity=",
        "\\x0a",
        "\n",
        "4,1,2,-;",
        "<4>",
        "9" * 5000,
        "kernel: ",
    ]
)
garbage = st.lists(st.one_of(fragments, st.text(max_size=20)), max_size=12).map("".join)
mangled = st.builds(
    lambda line, start, end: line[start : len(line) - end],
    st.sampled_from(GOLDEN),
    st.integers(0, 30),
    st.integers(0, 200),
)
logs = st.lists(st.one_of(garbage, mangled, st.sampled_from(GOLDEN)), max_size=30)


def read(lines, boot_time=NOW):
    reader = KernelLogReader("boot", boot_time=boot_time)
    return [o for n, line in enumerate(lines) for o in reader.feed(line, sequence=n, default_time=NOW)]


@given(logs)
def test_arbitrary_text_never_crashes_and_what_comes_out_can_be_sent(lines):
    seen = read(lines)
    batch = ObservationBatch(node="n", boot_id="boot", seq=1, time=NOW, observations=tuple(seen))
    assert ObservationBatch.model_validate_json(batch.to_json()).observations == batch.observations


@given(logs)
def test_reading_again_gives_the_same_ids(lines):
    assert read(lines) == read(lines)


@given(logs)
def test_ids_are_unique(lines):
    ids = [seen.id for seen in read(lines)]
    assert len(ids) == len(set(ids))


@given(logs)
def test_collapse_keeps_the_counts_and_collapsing_again_changes_nothing(lines):
    seen = read(lines)
    collapsed = collapse(seen)
    assert sum(o.count for o in collapsed) == len(seen)
    assert collapse(collapsed) == collapsed
    for one in seen:
        assert any(low <= one.sequence[0] <= high for low, high in (o.sequence for o in collapsed))
