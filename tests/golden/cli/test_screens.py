"""What people see, frozen. `GPUWARD_REGENERATE=1` writes the screens anew: read the difference before committing it."""

from __future__ import annotations

import io
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console, Group

from gpuward.console.cli import app, explain, get, why
from gpuward.console.explain import explain as explanation_of
from gpuward.console.live.picture import headline, picture
from gpuward.console.live.screen import plain, screen
from gpuward.console.story import lines
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.runtime import policy as policy_of
from tests.unit.console.telling import GPU, NODE, closed, edge, fleet, opened, outcome, policy, record

HERE = Path(__file__).parent
LOG = HERE.parent / "kernel_log" / "kernel.log"
WRITTEN = datetime(2024, 5, 1, 10, tzinfo=UTC)
PLAN = Cause(plan="p-1", attempt=1, fault_ids=("f1",))
STORY = [
    opened(1),
    edge(2, "healthy", "failed", text="gpu.xid.79: needs reboot_node"),
    outcome(3, OutcomeKind.DECISION, name="claimed", text="claimed reboot_node from r01-n01"),
    outcome(4, OutcomeKind.DECISION, name="planned", text="reboot_node, attempt 1", entity=NODE, cause=PLAN),
    outcome(5, OutcomeKind.DECISION, name="granted", text="token (1, 1)", entity=Entity.pool("default"), cause=PLAN),
    outcome(6, OutcomeKind.STEP, name="cordon", result="done", entity=NODE, cause=PLAN),
    outcome(7, OutcomeKind.ACT, name="node.reboot", result="done", entity=NODE, cause=PLAN),
    edge(8, "failed", "repairing", entity=NODE, cause=PLAN),
]


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(renderable, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system=None, legacy_windows=False)
    console.print(renderable)
    text = console.file.getvalue()
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def check(name: str, text: str) -> None:
    file = HERE / name
    if os.environ.get("GPUWARD_REGENERATE"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def told(*outcomes):
    return lines((item, 3, offset) for offset, item in enumerate(outcomes))


def test_fleet():
    records = fleet(racks=2, nodes=3, gpus=8, r01_n02="failed", r02_n01="quarantined", r02_n03="repairing")
    check("fleet.txt", shown(Group(headline(records), picture(records))))


def test_nothing_is_known_yet():
    check("empty.txt", shown(picture([])))


def test_get_gpu():
    state = {"lifecycle": "failed", "summary": "needs reboot_node", "incidents": ("gpu.xid.79#i1",)}
    place = {"node": "r01-n01", "slot": "0000:1b:00.0", "rack": "r01", "domain": "r01-n01-hgx", "pool": "default"}
    check("get-gpu.txt", shown(get.screen(record(GPU, **state, **place), None)))


def test_get_pool():
    inventory = policy().model_dump(mode="json", include={"pool", "revision"})
    check("get-pool.txt", shown(get.screen(record(Entity.pool("default"), inventory=inventory), None)))


def test_why():
    check("why.txt", shown(why.screen(record(GPU, lifecycle="failed", summary="needs reboot_node"), told(*STORY))))


def test_up():
    records = fleet(racks=1, nodes=2, gpus=8, r01_n01="repairing")
    notices, advice = ["Temporal UI: http://127.0.0.1:8233"], ["Try next: gpuward fleet"]
    check("up.txt", shown(screen(records, told(*STORY), notices, advice)))


def test_lines_without_a_terminal():
    check("lines.txt", "".join(f"{plain(line)}\n" for line in told(*STORY, closed(9))))


def found():
    return explanation_of(LOG.read_text(encoding="utf-8").splitlines(), policy_of.load(), WRITTEN)


def test_explain():
    check("explain.txt", shown(explain.screen(found())))


def test_explain_in_json():
    check("explain.json", json.dumps(explain.as_document(found()), indent=1) + "\n")


def test_explain_of_a_log_without_faults():
    check("explain-nothing.txt", shown(explain.screen(explanation_of(["hello"], policy_of.load(), WRITTEN))))


def test_help():
    console = Console(file=io.StringIO(), width=110, highlight=False, color_system=None)
    app.help_print([], console=console)
    check("help.txt", "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines()))
