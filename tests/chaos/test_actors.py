"""Actors ended behind our back, flooded, and told things while they end themselves: nothing is lost, and nothing done twice."""

import asyncio
from datetime import UTC, datetime

import pytest

from gpuward.contracts import topics
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.identity import Entity
from gpuward.contracts.messages import DELIVER
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.runtime import kafka

CHARGED = {"granted", "begun", "overdue", "restated", "revoked"}


@pytest.mark.parametrize("whose", ["gpu", "node"])
async def test_an_actor_terminated_in_the_middle_of_a_repair_comes_back_and_goes_on(fleet, patient, whose):
    entity = {"gpu": patient.gpu, "node": patient.entity}[whose]
    await patient.falls_off_the_bus()
    await patient.reaches("repairing", "validating")
    ended = await _terminated(fleet, entity)
    await patient.heals(within_s=200)
    assert (await fleet.client.get_workflow_handle(entity).describe()).run_id != ended
    assert len(fleet.ledger.of(entity, what=OutcomeKind.BORN)) == 1  # it remembered
    assert await patient.count("reboot") == 1
    await patient.never_twice()


async def test_a_terminated_pool_guard_grants_nothing_before_it_knows_what_is_charged(fleet, pair):
    first, second = pair
    await fleet.world.misbehave(first.node, "act_delayed", delay_s=8)  # its slot stays charged for a while
    await first.falls_off_the_bus()
    await first.reaches("repairing")
    ended = await _terminated(fleet, first.pool)
    await second.falls_off_the_bus()
    await first.heals(within_s=200)
    await second.heals(within_s=200)
    assert (await fleet.client.get_workflow_handle(first.pool).describe()).run_id != ended
    back = next(o for o in fleet.ledger.of(first.entity) if o.name == "handed_back")
    began = next(o for o in fleet.ledger.of(second.entity) if o.name == "started")
    assert back.time <= began.time  # the budget is one node
    for one in pair:
        assert await one.count("reboot") == 1
        await one.never_twice()


async def test_signals_that_arrive_while_an_actor_continues_as_new_are_all_seen_in_order_once(fleet, patient):
    handle = fleet.client.get_workflow_handle(patient.entity)
    run, said = (await handle.describe()).run_id, []
    async with asyncio.timeout(150):
        while (await handle.describe()).run_id == run:
            for _ in range(25):
                said.append(f"note {len(said):05}")
                await handle.signal(DELIVER, [_note(patient.entity, said[-1]).model_dump(mode="json")])
    await fleet.ledger.until(lambda _: len(_heard(fleet, patient)) >= len(said), 90, "every note")
    assert _heard(fleet, patient) == said
    await patient.falls_off_the_bus()
    await patient.heals()


@pytest.mark.soak
async def test_an_entity_flooded_past_its_limit_is_parked_and_redriven_in_order(fleet, patient):
    said = [f"note {number:05}" for number in range(120)]
    await fleet.stop("bridge")
    fleet.start("bridge", GPUWARD_BRIDGE_SIGNAL_LIMIT="8")
    await fleet.ready("bridge")
    try:
        await fleet.stop("decide")  # nobody takes anything in
        async with kafka.Producer(fleet.settings, "flood") as producer:
            for text in said:
                order = _note(patient.entity, text, padding="x" * 15_000)  # each is a signal of its own
                await producer.send(topics.DIRECTIVES, key=patient.entity.encode(), value=order.to_json())
        await _parked(fleet, patient.entity)
        fleet.start("decide")
        await fleet.ledger.until(lambda _: len(_heard(fleet, patient)) >= len(said), 120, "every note")
    finally:
        if not fleet.children["decide"].running:
            fleet.start("decide")
        await fleet.stop("bridge")
        fleet.start("bridge")
        await fleet.ready("bridge")
        await fleet.ready("decide")
    assert _heard(fleet, patient) == said
    await patient.falls_off_the_bus()
    await patient.heals()


async def _terminated(fleet, entity):
    """Terminates the actor; the id of the run that ended."""
    handle = fleet.client.get_workflow_handle(entity)
    run = (await handle.describe()).run_id
    await handle.terminate("a chaos test")
    return run


def _note(entity, text, padding=""):
    return Directive(
        id=f"{entity} {text}",
        order=Order.ANNOTATE,
        entity=Entity(entity),
        person="flood",
        time=datetime.now(UTC),
        reason=f"{text}.{padding}",
    )


def _heard(fleet, patient):
    """The notes that the node has taken in, in the order of its ledger."""
    notes = [o for o in fleet.ledger.of(patient.entity, what=OutcomeKind.PERSON_SAID) if o.name == "annotate"]
    return [o.text.partition(": ")[2].partition(".")[0] for o in notes]


async def _parked(fleet, entity):
    """Waits until something of this entity is parked."""
    reader = kafka.consumer(fleet.settings, "parking-reader", topics.PARKED)
    await reader.start()
    try:
        async with asyncio.timeout(60):
            async for record in reader:
                if record.key == entity.encode() and b"flood" in record.value:
                    return
    finally:
        await reader.stop()
