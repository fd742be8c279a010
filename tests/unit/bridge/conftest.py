from __future__ import annotations

from dataclasses import dataclass, field

import orjson
import pytest

from gpuward.contracts.topics import TOPICS

NODE = "node/n1"


@dataclass
class Log:
    """A record as it lies in a log."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    partition: int = -1
    offset: int = 7
    timestamp: int = 0

    def __post_init__(self) -> None:
        if self.partition < 0:
            self.partition = TOPICS[self.topic].partition(self.key or b"")


def fault(entity: str = NODE, *, rack: str | None = "r1", **more: object) -> bytes:
    return orjson.dumps(
        {
            "kind": "fault",
            "phase": "raised",
            "fault_id": "f1",
            "revision": [1, 2, 3, 4],
            "entity": entity,
            "seat": {"node": "n1", "rack": rack},
            "fault_class": "node.silent",
            "verdict": {"severity": "critical", "ladder": ["observe"], "policy_version": "p"},
            "first_seen": "2026-01-01T00:00:00Z",
            "last_seen": "2026-01-01T00:00:00Z",
            **more,
        }
    )


@pytest.fixture
def make_fault():
    return fault


@pytest.fixture
def log():
    return Log
