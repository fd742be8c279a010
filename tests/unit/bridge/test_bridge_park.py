"""A parked record can be read back as it was."""

from __future__ import annotations

import pytest

from gpuward.contracts.errors import Permanent
from gpuward.contracts.topics import FAULTS, PARKED, TOPICS
from gpuward.runtime.kafka import Outgoing
from streams.bridge.park import BECAUSE, ORIGIN, Park, original, partition_of


class Producer:
    def __init__(self, too_large: bytes = b"-") -> None:
        self.sent: list[Outgoing] = []
        self.too_large = too_large

    async def send_all(self, records):
        if any(record.value == self.too_large for record in records):
            raise Permanent("too large")
        self.sent += records
        return [(0, len(self.sent) - len(records) + n) for n in range(len(records))]


class Letters:
    def __init__(self) -> None:
        self.kept: list[str] = []

    async def write(self, record, *, reason: str, text: str) -> None:
        self.kept.append(reason)


async def test_a_parked_record_comes_back_as_it_was(log) -> None:
    producer = Producer()
    records = [log(FAULTS, b"node/n1", value, [("ce_id", b"1")], offset=n) for n, value in enumerate((b"a", b"b"))]
    assert await Park(producer, Letters()).park(records, "full", first=True) == [0, 1]
    back = []
    for sent in producer.sent:
        assert (sent.topic, dict(sent.headers)[BECAUSE]) == (PARKED, b"full")
        back.append(original(log(PARKED, sent.key, sent.value, list(sent.headers))))
    for record, again in zip(records, back, strict=True):
        for name in ("topic", "partition", "offset", "key", "value"):
            assert getattr(again, name) == getattr(record, name)
        assert again.headers == (("ce_id", b"1"),)


async def test_one_that_cannot_be_parked_does_not_hold_up_the_others(log) -> None:
    producer, letters = Producer(too_large=b"b"), Letters()
    records = [log(FAULTS, b"node/n1", value) for value in (b"a", b"b", b"c")]
    assert await Park(producer, letters).park(records, "full", first=True) == [0, None, 1]
    assert letters.kept == ["too-large"]


def test_a_record_that_was_never_parked_is_said_to_be_none(log) -> None:
    for headers in ([], [(ORIGIN, b"elsewhere/1/2")], [(ORIGIN, b"fleet.faults.v1/x/y")]):
        with pytest.raises(ValueError, match="origin"):
            original(log(PARKED, b"node/n1", b"", headers))


def test_an_entitys_parked_records_lie_where_its_live_ones_do() -> None:
    for n in range(50):
        key = f"node/{n}".encode()
        assert partition_of(key) == TOPICS[FAULTS].partition(key)
