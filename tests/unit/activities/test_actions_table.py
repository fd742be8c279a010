"""Law: every row of the table of activities has exactly one implementation with those types; every irreversible row goes
through the interlock with one attempt; every reversible row names an undo that exists."""

from __future__ import annotations

import inspect
import typing
from datetime import UTC, datetime, timedelta

import pytest

from activities.registry import build, on_queue
from gpuward.contracts.actions import ACT_QUEUE, ACTIONS, LEDGER_QUEUE, Effect
from gpuward.contracts.acts import ActResult, NodeAct
from gpuward.contracts.seat import Address, Seat

ROWS = pytest.mark.parametrize("row", ACTIONS.values(), ids=ACTIONS.keys())
IRREVERSIBLE = [row for row in ACTIONS.values() if row.effect is Effect.IRREVERSIBLE]


class Recorded:
    """Stands where the interlock stands; says no and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def act(self, name, act, call):
        self.asked.append(name)
        return ActResult(result="refused", reason="test")


@pytest.fixture
def interlock():
    return Recorded()


@pytest.fixture
def implementations(tmp_path, interlock):
    return build({}, None, None, None, evidence_folder=tmp_path, interlock=interlock)


def definition(implementation):
    return implementation.__temporal_activity_definition


def test_every_row_has_an_implementation_and_every_implementation_a_row(implementations) -> None:
    assert implementations.keys() == ACTIONS.keys()


def test_no_function_implements_two_rows(implementations) -> None:
    assert len({implementation.__func__ for implementation in implementations.values()}) == len(ACTIONS)


@ROWS
def test_the_types_are_the_rows(row, implementations) -> None:
    implementation = implementations[row.name]
    hints = typing.get_type_hints(implementation)
    result = hints.pop("return")
    assert list(hints.values()) == [row.request]
    assert result is row.result
    assert inspect.iscoroutinefunction(implementation)


@ROWS
def test_the_registered_name_is_the_rows(row, implementations) -> None:
    found = getattr(implementations[row.name].__func__, "__temporal_activity_definition")
    assert found.name == row.name


@pytest.mark.parametrize("row", IRREVERSIBLE, ids=lambda row: row.name)
async def test_an_irreversible_row_goes_through_the_interlock(row, implementations, interlock) -> None:
    act = NodeAct(
        node="n1",
        seat=Seat(node="n1", rack="r", pool="p", address=Address(provider="none", bmc="b", smbios_uuid="u")),
        plan="p",
        attempt=1,
        boot_id="b",
        not_after=datetime.now(UTC) + timedelta(minutes=1),
    )
    answer = await implementations[row.name](act)
    assert interlock.asked == [row.name]
    assert answer.result == "refused"


@pytest.mark.parametrize("row", IRREVERSIBLE, ids=lambda row: row.name)
def test_an_irreversible_row_has_one_attempt_and_may_not_wait_for_ever(row) -> None:
    assert row.attempts == 1
    assert row.schedule_to_start_s is not None
    assert row.heartbeat_s is not None
    assert (row.request, row.result) == (NodeAct, ActResult)


@ROWS
def test_a_reversible_row_names_an_undo_that_exists(row) -> None:
    if row.effect is Effect.REVERSIBLE:
        assert ACTIONS[row.undo].effect is Effect.REVERSIBLE
        assert ACTIONS[row.undo].request is row.request
    else:
        assert row.undo is None


@ROWS
def test_what_heartbeats_does_so_often_enough(row) -> None:
    from activities.heartbeat import EVERY_S

    assert row.heartbeat_s is None or row.heartbeat_s >= EVERY_S * 3


def test_each_queue_gets_its_own(implementations) -> None:
    acts, ledger = on_queue(implementations, ACT_QUEUE), on_queue(implementations, LEDGER_QUEUE)
    assert len(acts) + len(ledger) == len(ACTIONS)
    assert implementations["ledger.append"] in ledger
    assert implementations["node.reboot"] in acts
