"""What the server's answers mean: taken, full, unfit; what is wrong with the world is waited out."""

from __future__ import annotations

import pytest
from temporalio.service import RPCError, RPCStatusCode

from gpuward.contracts.identity import Entity
from streams.bridge import patience
from streams.bridge.deliver import Deliver
from streams.bridge.lanes import Batch, Waiting
from streams.bridge.send import Courier, Full, Taken, Unfit

A = Entity.node("a")
LIMIT = "exceeded workflow execution limit for signal events"


class Server:
    """Stands in for the client: gives its answers in turn, then accepts."""

    def __init__(self, *answers: RPCError) -> None:
        self.answers = list(answers)
        self.refused: set[int] = set()
        self.signals: list[list[int]] = []

    async def start_workflow(self, workflow, argument, *, start_signal_args, **more):
        assert (workflow, str(argument.entity), more["id"]) == ("NodeActor", "node/a", "node/a")
        if self.answers:
            raise self.answers.pop(0)
        numbers = [message["n"] for message in start_signal_args[0]]
        if self.refused & set(numbers):
            raise error(RPCStatusCode.INVALID_ARGUMENT, "blob size exceeds limit")
        self.signals.append(numbers)


class Unbounded:
    async def refuses(self, target: Entity) -> None:
        return None


class Letters:
    def __init__(self) -> None:
        self.kept: list[tuple[int, str]] = []

    async def write(self, record, *, reason: str, text: str) -> None:
        self.kept.append((record, reason))


def error(status: RPCStatusCode, message: str = "") -> RPCError:
    return RPCError(message, status, b"")


def batch(*numbers: int) -> Batch[int]:
    return Batch(A, A, tuple(Waiting(A, A, {"n": n}, 10, n) for n in numbers))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.0)


@pytest.mark.parametrize(
    "status",
    [
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.PERMISSION_DENIED,
        RPCStatusCode.NOT_FOUND,
    ],
)
async def test_the_worlds_trouble_is_waited_out(status: RPCStatusCode) -> None:
    server, waits = Server(error(status), error(status)), []
    courier = Courier(server, Unbounded())
    assert await courier.deliver(A, [{"n": 1}], waiting=lambda: waits.append(1)) == Taken()
    assert (server.signals, len(waits)) == ([[1]], 2)


async def test_the_signal_limit_means_full_and_other_bad_requests_unfit() -> None:
    for message, wanted in ((LIMIT, Full), ("blob size exceeds limit", Unfit)):
        courier = Courier(Server(error(RPCStatusCode.INVALID_ARGUMENT, message)), Unbounded())
        answer = await courier.deliver(A, [{"n": 1}])
        assert isinstance(answer, wanted)
        assert answer.because == message


async def test_only_the_message_that_is_refused_becomes_a_dead_letter() -> None:
    server, letters, settled = Server(), Letters(), []
    server.refused = {2}
    deliver = Deliver(Courier(server, Unbounded()), letters)
    answer = await deliver.deliver(batch(1, 2, 3), lambda n: n, settled=lambda item: settled.append(item.ticket))
    assert answer is None
    assert (server.signals, letters.kept, settled) == ([[1], [3]], [(2, "refused")], [1, 2, 3])


async def test_full_midway_leaves_the_rest_unsettled() -> None:
    server, settled = (
        Server(error(RPCStatusCode.INVALID_ARGUMENT, "too odd"), error(RPCStatusCode.INVALID_ARGUMENT, LIMIT)),
        [],
    )
    deliver = Deliver(Courier(server, Unbounded()), Letters())
    answer = await deliver.deliver(batch(1, 2), lambda n: n, settled=lambda item: settled.append(item.ticket))
    assert isinstance(answer, Full)
    assert (settled, server.signals) == ([], [])
