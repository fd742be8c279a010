"""The documentation is held to the code: what exists is documented, what is documented exists, and links lead somewhere."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from gpuward.console.cli.mount import GROUPS
from gpuward.contracts.actions import ACTIONS
from gpuward.contracts.metrics import METRICS
from gpuward.contracts.topics import CHANGELOGS, TOPICS
from gpuward.processes.main import PROCESSES
from gpuward.runtime.settings import KafkaSettings, Settings, SimulationSettings, TemporalSettings
from workflows.remediations.registry import REPAIRS

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
CODE = ("gpuward", "ingest", "streams", "workflows", "activities")

DEFAULTS = {
    "GPUWARD_HEALTH_PORT": 0,
    "GPUWARD_HEALTH_HOST": "127.0.0.1",
    "GPUWARD_RECORDS_URL": None,
    "GPUWARD_POLICY_FILE": None,
    "GPUWARD_WORLD": None,
    "GPUWARD_LOG_LEVEL": "info",
    "GPUWARD_LOG_FORMAT": "json",
    "GPUWARD_SHUTDOWN_GRACE_S": 10.0,
    "GPUWARD_STREAMS_PARTITIONS_OVERLAP_RECORDS": 2000,
    "GPUWARD_STREAMS_OVERLAP_S": 120.0,
    "GPUWARD_STREAMS_SILENT_AFTER_S": 60.0,
    "GPUWARD_AGENT_TICK_S": 10.0,
    "GPUWARD_BRIDGE_SIGNAL_LIMIT": 2000,
    "GPUWARD_BRIDGE_BYTES_LIMIT": 5_000_000,
    "GPUWARD_BRIDGE_CONCURRENCY": 64,
    "GPUWARD_ACT_BEGIN_CONCURRENCY": 8,
    "GPUWARD_ACT_POLL_S": 1.0,
    "GPUWARD_WORKFLOW_CACHE": 2000,
    "GPUWARD_KAFKA_BOOTSTRAP": "127.0.0.1:9092",
    "GPUWARD_KAFKA_SECURITY_PROTOCOL": "PLAINTEXT",
    "GPUWARD_KAFKA_SASL_MECHANISM": "PLAIN",
    "GPUWARD_KAFKA_SASL_USERNAME": None,
    "GPUWARD_KAFKA_SASL_PASSWORD_FILE": None,
    "GPUWARD_KAFKA_CA_FILE": None,
    "GPUWARD_KAFKA_CERTIFICATE_FILE": None,
    "GPUWARD_KAFKA_KEY_FILE": None,
    "GPUWARD_KAFKA_REPLICATION_FACTOR": 1,
    "GPUWARD_KAFKA_SESSION_TIMEOUT_MS": 10_000,
    "GPUWARD_KAFKA_REQUEST_TIMEOUT_MS": 15_000,
    "GPUWARD_TEMPORAL_ADDRESS": "127.0.0.1:7233",
    "GPUWARD_TEMPORAL_NAMESPACE": "default",
    "GPUWARD_TEMPORAL_TLS": False,
    "GPUWARD_TEMPORAL_CERTIFICATE_FILE": None,
    "GPUWARD_TEMPORAL_KEY_FILE": None,
    "GPUWARD_TEMPORAL_API_KEY_FILE": None,
    "GPUWARD_TEMPORAL_UI": None,
    "GPUWARD_SIMULATION_RACKS": 2,
    "GPUWARD_SIMULATION_NODES": 4,
    "GPUWARD_SIMULATION_GPUS": 8,
    "GPUWARD_SIMULATION_TIME_SCALE": 60.0,
    "GPUWARD_SIMULATION_SEED": 1,
    "GPUWARD_SIMULATION_PORT": 0,
}
"""Frozen: who changes one changes it here, in `docs/settings.md`, and for everybody who relied on it."""
OF_THE_MACHINE = {"GPUWARD_DATA", "GPUWARD_HOST"}


def settings():
    """Environment name → field, of every setting that is a value and not a table of them."""
    for model in (Settings, KafkaSettings, TemporalSettings, SimulationSettings):
        for name, field in model.model_fields.items():
            if not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings)):
                yield f"{model.model_config['env_prefix']}{name.upper()}", field


def rows(page):
    """First cell → the other cells, of every table on the page."""
    lines = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return {first.strip("`"): others for first, *others in cells}


def written(default):
    if default is None:
        return "unset"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


@cache
def sources():
    """Code without the tables, where a row is used and not declared."""
    files = [file for folder in CODE for file in (ROOT / folder).rglob("*.py") if "contracts" not in file.parts]
    return "\n".join(file.read_text() for file in files)


def test_the_defaults_are_frozen():
    found = {name: field.default for name, field in settings() if name not in OF_THE_MACHINE}
    assert found == DEFAULTS


def test_every_setting_is_documented_with_its_default():
    page = rows("settings.md")
    assert {name: page[name][0] for name, _ in settings() if name not in OF_THE_MACHINE} == {
        name: written(default) for name, default in DEFAULTS.items()
    }
    assert page.keys() >= OF_THE_MACHINE
    assert all(page[name][-1] for name, _ in settings())


def test_no_setting_is_documented_that_does_not_exist():
    known = {name for name, _ in settings()} | {
        "GPUWARD_CONFIG",
        "GPUWARD_PERSON",
        "GPUWARD_FAILPOINT",
        "GPUWARD_FAILPOINT_ONCE",
        "GPUWARD_SOAK_KILLS",
    }
    nested = {
        name.replace(f"GPUWARD_{part}_", f"GPUWARD_{part}__")
        for part in ("KAFKA", "TEMPORAL", "SIMULATION")
        for name in known
    }
    for page in PAGES:
        named = set(re.findall(r"GPUWARD_[A-Z_]*[A-Z]", page.read_text()))
        assert named <= known | nested, f"{page.relative_to(ROOT)} names a setting that does not exist"


@pytest.mark.parametrize("words", [row.words for group in GROUPS.values() for row in group])
def test_every_command_is_documented(words):
    spans = re.findall(r"`([^`]+)`", (DOCS / "cli.md").read_text().replace(r"\|", "|"))
    verbs = {" ".join([*noun, verb]) for span in spans for *noun, verb in _spoken(span)}
    assert words in verbs


def _spoken(span):
    """`stop|resume POOL` says `stop` and `resume`; `get gpu|node X` says `get gpu` and `get node`; `topics [list]` too."""
    said = []
    for word in span.replace("[list]", "list").split():
        if not re.fullmatch(r"[a-z]+(\|[a-z]+)*", word):
            break
        said = [[*before, one] for before in said or [[]] for one in word.split("|")]
    return said


@pytest.mark.parametrize("process", PROCESSES)
def test_every_process_is_documented(process):
    assert process in rows("cli.md")


def test_every_topic_is_documented_with_its_key_model_and_owner():
    page = rows("topics.md")
    assert page.keys() >= {row.name for row in CHANGELOGS}
    for row in TOPICS.values():
        key, _kept, model, owner, meaning = page[row.name]
        assert (key.replace("\\", ""), owner, meaning) == (row.key, f"`{row.owner}`", row.meaning)
        assert row.model is None or model == f"`{row.model.__name__}`"


def test_every_action_is_documented_with_its_effect_undo_and_queue():
    page = rows("actions.md")
    for row in ACTIONS.values():
        effect, radius, undo, attempts, *_, queue, meaning = page[row.name]
        assert (effect, radius, queue, meaning) == (row.effect.value, row.radius, f"`{row.queue}`", row.meaning)
        assert (undo.strip("`") or None, attempts) == (row.undo, str(row.attempts or "until it answers"))


def test_every_remedy_is_documented_with_its_steps():
    page = rows("actions.md")
    for remedy, repair in REPAIRS.items():
        assert page[remedy] == [" → ".join(f"`{step.action}`" for step in repair.steps)]


def test_every_metric_is_documented_and_says_when_nothing_counts_it():
    page = rows("metrics.md")
    for row in METRICS.values():
        kind, labels, meaning = page[row.name]
        assert (kind, labels) == (row.kind, ", ".join(f"`{label}`" for label in row.labels))
        idle = "" if f'"{row.name}"' in sources() else " (not yet counted)"
        assert meaning == f"{row.meaning}{idle}", (
            f"docs/metrics.md: the meaning of {row.name} ends with {idle!r} or not"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for text, target in _links(page):
        path, _, _ = target.partition("#")
        assert (page.parent / path).exists(), f"[{text}]({target})"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_test_that_a_page_points_to_is_in_that_file(page):
    for text, target in _links(page):
        if target.endswith(".py") and re.fullmatch(r"`\w+`", text):
            defined = {
                node.name for node in ast.walk(ast.parse((page.parent / target).read_text())) if hasattr(node, "name")
            }
            assert text.strip("`") in defined


def test_a_test_that_a_page_names_exists():
    tests = {
        name for file in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())
    }
    files = {file.stem for file in (ROOT / "tests").rglob("test_*.py")}
    for page in PAGES:
        named = set(re.findall(r"`(test_\w+)`", page.read_text()))
        assert named <= tests | files, page.relative_to(ROOT)


def test_files_that_a_page_names_exist():
    for page in PAGES:
        for name in re.findall(
            r"`((?:gpuward|ingest|streams|workflows|activities|tests|docs|deploy)/[\w/.-]+)`", page.read_text()
        ):
            assert (ROOT / name).exists(), f"{page.relative_to(ROOT)} names {name}"


def test_decisions_are_numbered_without_a_gap():
    numbers = [int(page.name[:4]) for page in sorted((DOCS / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def _links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", text)
    return [(words, target) for words, target in found if "://" not in target and not target.startswith("#")]
