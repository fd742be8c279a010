"""The inbox keeps raw items, in order, and never raises."""

from __future__ import annotations

import json

from temporalio.api.common.v1 import Payload
from temporalio.common import RawValue

from gpuward.contracts.claims import Restate
from workflows.inbox import Inbox, Unreadable


def signal(value: object) -> RawValue:
    return RawValue(Payload(data=value if isinstance(value, bytes) else json.dumps(value).encode()))


def restate(name: str) -> dict[str, str]:
    return {"kind": "restate", "guard": "pool/a", "id": name}


def test_takes_so_many_in_order_over_signals():
    inbox = Inbox([restate("0")])
    for first in (1, 4):
        inbox.put(signal([restate(str(n)) for n in range(first, first + 3)]))
    taken = [*inbox.take(2), *inbox.take(3), *inbox.take(100)]
    assert [message.id for message in taken if isinstance(message, Restate)] == [str(n) for n in range(7)]
    assert not inbox
    assert inbox.size == 0


def test_pending_is_what_was_not_taken():
    inbox = Inbox([])
    inbox.put(signal([restate("1"), restate("2")]))
    inbox.put(signal(["odd"]))
    inbox.take(1)
    successor = Inbox(inbox.pending())
    first, second = successor.take()
    assert isinstance(first, Restate)
    assert isinstance(second, Unreadable)


def test_garbage_is_told_of_and_passes():
    inbox = Inbox([])
    for bad in (b"{", b"", b"7", b"null", b'[{"kind": "restate"}]', b'[{"kind": 5}]', b"[[]]", b"\xff\xfe"):
        inbox.put(RawValue(Payload(data=bad)))
    inbox.put(signal([restate("1")]))
    *bad, good = inbox.take()
    assert len(bad) == 8
    assert all(isinstance(item, Unreadable) and item.text for item in bad)
    assert isinstance(good, Restate)
