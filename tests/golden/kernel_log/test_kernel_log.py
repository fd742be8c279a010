"""Every form of the kernel log's grammars, with decoys among them. `GPUWARD_REGENERATE=1` writes the expectation anew:
read the difference before committing it.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from ingest.collectors.kernel_log import KernelLogFileCollector
from ingest.normalise import KernelLogReader

HERE = Path(__file__).parent
LOG = HERE / "kernel.log"
EXPECTED = HERE / "expected.json"
BOOT_ID = "b1d1f0aa-0000-4000-8000-000000000001"
BOOT_TIME = datetime(2024, 5, 1, 10, tzinfo=UTC)
DEFAULT = datetime(2024, 5, 1, 13, tzinfo=UTC)


def read() -> list[dict]:
    reader = KernelLogReader(BOOT_ID, boot_time=BOOT_TIME)
    return [
        {"line": number, **{k: v for k, v in json.loads(seen.to_json()).items() if v not in (None, [], "")}}
        for number, line in enumerate(LOG.read_text(encoding="utf-8").splitlines(), 1)
        for seen in reader.feed(line, sequence=number, default_time=DEFAULT)
    ]


def test_the_log_reads_as_expected():
    found = read()
    if os.environ.get("GPUWARD_REGENERATE"):
        EXPECTED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(EXPECTED.read_text(encoding="utf-8"))


def test_the_collector_sees_the_same():
    collector = KernelLogFileCollector(LOG, boot_id=BOOT_ID, boot_time=BOOT_TIME, clock=lambda: DEFAULT)
    seen = [(o.kind, o.text, o.time.isoformat()) for o in collector.poll()]
    collector.close()
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    assert seen == [(e["kind"], e["text"], datetime.fromisoformat(e["time"]).isoformat()) for e in expected]


FIRST_DECOY = 78


def test_no_decoy_is_taken_for_a_fault():
    taken = [entry for entry in read() if entry["line"] >= FIRST_DECOY]
    assert [(entry["line"], entry["kind"], entry["code"]) for entry in taken] == [(90, "xid", 45), (91, "xid", 154)]
    assert "recovery_to" not in taken[1]
