"""Commands as a shell runs them, against records alone: answers, documents, exit codes, and errors as sentences."""

from __future__ import annotations

import asyncio
import json

import pytest

from gpuward.console.cli import app
from gpuward.console.cli.direct import directive
from gpuward.console.cli.exits import Misused
from gpuward.console.policy_record import changes
from gpuward.contracts.directives import Order
from gpuward.contracts.identity import Entity
from gpuward.runtime import policy as policy_of
from gpuward.runtime.records import Records
from tests.unit.console.telling import GPU, NODE, START, closed, edge, fleet, opened, policy, record

MEMBERS = [*fleet(nodes=2, gpus=2, r01_n02="failed"), record(GPU, node="r01-n01", slot="0000:1b:00.0", seat_epoch=7)]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data directory with records in it, and no stack."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUWARD_DATA", raising=False)
    records = Records(f"sqlite:///{tmp_path / 'records.sqlite'}")
    records.create()
    story = [(item, 2, offset) for offset, item in enumerate([opened(1), edge(2, "healthy", "failed"), closed(3)])]
    asyncio.run(records.fold(MEMBERS, story, {}))
    records.close()
    return tmp_path


def run(capsys, *words: str) -> tuple[int, str, str]:
    try:
        code = app(list(words), result_action="return_value")
    except SystemExit as exit_:
        code = exit_.code
    out, err = capsys.readouterr()
    return code, out, err


def test_fleet_counts_what_there_is(data, capsys):
    code, out, _ = run(capsys, "fleet", "--json", "--data", str(data))
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "gpuward.fleet/1"
    assert document["counts"]["node"] == {"healthy": 1, "failed": 1}
    assert [node["node"] for node in document["racks"][0]["nodes"]] == ["r01-n01", "r01-n02"]


def test_get_finds_by_a_unique_beginning(data, capsys):
    code, out, _ = run(capsys, "get", "gpu", "5d5b", "--json", "--data", str(data))
    document = json.loads(out)
    assert (code, document["entity"], document["kind"], document["slot"]) == (0, str(GPU), "gpu", "0000:1b:00.0")
    assert document["live"] is None


def test_why_tells_the_story_with_offsets(data, capsys):
    code, out, _ = run(capsys, "why", str(GPU), "--hours", "1000000", "--json", "--data", str(data))
    story = json.loads(out)["story"]
    assert code == 0
    assert [line["what"] for line in story] == ["incident_opened", "edge", "incident_closed"]
    assert story[0]["evidence"][0]["offset"] == 41
    assert story[1]["ledger"] == {"topic": "fleet.outcomes.v1", "partition": 2, "offset": 1}


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("get", "gpu", "nothing"), 1, "No gpu is called 'nothing'"),
        (("get", "node", "r01-n0"), 2, "can mean node/r01-n01, node/r01-n02"),
        (("inject", "xid", "79"), 2, "--gpu, --node or --rack"),
        (("inject", "xid", "79", "--node", "r01-n01"), 3, "no simulated world"),
        (("explain", "no-such-file"), 2, "cannot be read"),
        (("get", "gpu"), 2, ""),
        (("fly",), 2, ""),
    ],
)
def test_an_error_is_a_sentence_and_a_code(data, capsys, words, code, sentence):
    found, out, err = run(capsys, *words, *(["--data", str(data)] if len(words) > 2 and words[0] != "explain" else []))
    assert found == code
    assert sentence in err + out
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1 or not sentence


def test_without_a_stack_a_command_says_how_to_start_one(tmp_path, capsys):
    code, _, err = run(capsys, "fleet", "--data", str(tmp_path / "nowhere"))
    assert code == 3
    assert "gpuward up --data" in err


def test_topics_need_no_server(capsys):
    code, out, _ = run(capsys, "topics", "list", "--json")
    topics = {row["topic"]: row for row in json.loads(out)["topics"]}
    assert code == 0
    assert topics["fleet.entities.v1"]["owner"] == "gpuward.console.projector"
    assert run(capsys, "topics")[0] == 0


def test_the_shipped_policy_is_one(capsys, data):
    code, out, _ = run(capsys, "policy", "check", "--json", "--data", str(data))
    assert (code, json.loads(out)["pools"][0]["mode"]) == (0, "watch")


def test_a_policy_that_is_none_is_refused(tmp_path, capsys):
    wrong = tmp_path / "policy.yaml"
    wrong.write_text("pools: [{name: a, mode: maybe}]\n")
    code, _, err = run(capsys, "policy", "check", str(wrong), "--data", str(tmp_path))
    assert code == 1
    assert "is not a policy" in err


def test_a_gpu_is_retired_in_the_seat_where_it_stands():
    said = directive(Order.RETIRE, MEMBERS[-1], "alex", "old", START)
    assert (said.entity, said.node, said.epoch, said.person) == (GPU, "r01-n01", 7, "alex")


def test_to_cordon_a_gpu_is_to_cordon_its_node():
    assert directive(Order.CORDON, MEMBERS[-1], "alex", "", START).entity == NODE


def test_a_rack_cannot_be_cordoned():
    with pytest.raises(Misused, match="cordon is for a node"):
        directive(Order.CORDON, record(Entity.rack("r01")), "alex", "", START)


def test_an_apply_tells_each_pool_once_with_one_revision():
    told = changes(policy_of.load(), START)
    assert [str(change.entity) for change in told] == ["pool/default"]
    assert told[0].revision == int(START.timestamp() * 1000)
    assert policy().entity == told[0].entity
