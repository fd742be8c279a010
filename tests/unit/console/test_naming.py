from __future__ import annotations

import pytest

from gpuward.console.cli.exits import Misused, NoSuch
from gpuward.console.cli.naming import choose
from gpuward.contracts.identity import Entity
from tests.unit.console.telling import record

A, B = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "GPU-5d5b0000-d33d-2b2c-524d-9e3d8d2b8a77"
RECORDS = [
    record(Entity.gpu(A), node="r01-n01", slot="0000:1b:00.0"),
    record(Entity.gpu(B), node="r01-n02", slot="0000:1b:00.0"),
    record(Entity.node("r01-n01")),
    record(Entity.node("r01-n010")),
    record(Entity.rack("r01")),
    record(Entity.pool("default")),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"gpu/{A}", f"gpu/{A}"),
        (A, f"gpu/{A}"),
        (A.lower(), f"gpu/{A}"),
        (A.removeprefix("GPU-"), f"gpu/{A}"),
        ("GPU-5d5ba", f"gpu/{A}"),
        ("5d5ba", f"gpu/{A}"),
        ("r01-n02:0000:1b:00.0", f"gpu/{B}"),
        ("r01-n01", "node/r01-n01"),
        ("node/r01-n01", "node/r01-n01"),
        ("r01", "rack/r01"),
        ("def", "pool/default"),
    ],
)
def test_what_a_person_writes_names_one_entity(text, found):
    assert choose(RECORDS, text).entity == found


def test_an_exact_name_beats_a_beginning():
    assert choose(RECORDS, "r01-n01", "node").entity == "node/r01-n01"


def test_what_can_mean_several_says_which():
    with pytest.raises(Misused, match=f"gpu/{B}, gpu/{A}"):
        choose(RECORDS, "5d5b", "gpu")


@pytest.mark.parametrize("text", ["r99", "", "gpu/", "node/5d5b"])
def test_what_names_nothing_is_said_in_a_sentence(text):
    with pytest.raises(NoSuch, match="gpuward fleet"):
        choose(RECORDS, text)
