"""Appending, loading, telling: what each promises when its peer is away."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from temporalio.exceptions import ApplicationError

from activities.ledger.append import Ledger
from activities.ledger.load import Loading
from activities.notify.person import Notify
from gpuward.contracts.acts import Append, LoadRequest, PersonAsked
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.envelope import Envelope
from gpuward.contracts.errors import Permanent, Transient
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.outcomes import Outcome, OutcomeKind

NODE = Entity.node("n1")
AT = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


class Sent:
    """Acknowledges until it is told to fail."""

    def __init__(self, fail_at: int | None = None, error: Exception | None = None) -> None:
        self.records, self._fail_at, self._error = [], fail_at, error

    async def send_all(self, records):
        for record in records:
            if self._fail_at == len(self.records):
                raise self._error
            self.records.append(tuple(record))


def outcome(number: int) -> Outcome:
    return Outcome(id=f"o{number}", entity=NODE, time=AT, what=OutcomeKind.DECISION, name="claimed")


async def test_outcomes_go_in_order_with_their_envelope() -> None:
    sent = Sent()
    await Ledger(sent).append(Append(outcomes=tuple(outcome(n) for n in range(5))))
    assert [Outcome.model_validate_json(value).id for _, _, value, _ in sent.records] == [f"o{n}" for n in range(5)]
    topic, key, _, headers = sent.records[0]
    assert (topic, key) == ("fleet.outcomes.v1", b"node/n1")
    envelope = Envelope.from_headers(headers)
    assert (envelope.id, envelope.type, envelope.source, envelope.time) == (
        "o0",
        "gpuward.outcome.decision",
        "activities.ledger",
        AT,
    )


@pytest.mark.parametrize(("error", "again"), [(Transient("away"), True), (Permanent("too large"), False)])
async def test_a_failed_append_says_whether_to_try_again(error, again) -> None:
    sent = Sent(fail_at=2, error=error)
    with pytest.raises(ApplicationError) as raised:
        await Ledger(sent).append(Append(outcomes=tuple(outcome(n) for n in range(5))))
    assert raised.value.non_retryable is not again
    assert raised.value.type == type(error).__name__
    assert "5 outcomes of node/n1 from o0 on" in str(raised.value)
    assert len(sent.records) == 2


async def test_none_is_said_only_where_the_records_answered() -> None:
    record = EntityRecord(entity=NODE, entity_kind=EntityKind.NODE)

    async def found(entity):
        return record

    async def none(entity):
        return None

    async def away(entity):
        raise Transient("the database is away")

    async def broken(entity):
        raise RuntimeError

    ask = LoadRequest(entity=NODE)
    assert (await Loading(found).load(ask)).record == record
    assert (await Loading(none).load(ask)).status == "none"
    assert (await Loading(away).load(ask)).status == "unavailable"
    assert (await Loading(broken).load(ask)).status == "unavailable"


async def test_a_person_is_told_in_the_ledger_under_one_id() -> None:
    sent = Sent()
    ask = PersonAsked(entity=NODE, plan="p", attempt=2, text="look at n1", deadline=AT, default="stays out")
    for _ in range(2):
        await Notify(Ledger(sent).put, clock=lambda: AT).person(ask)
    first, second = (Outcome.model_validate_json(value) for _, _, value, _ in sent.records)
    assert first == second
    assert (first.what, first.name, first.text, first.cause.plan) == (
        OutcomeKind.ACT,
        "notify.person",
        "look at n1",
        "p",
    )
