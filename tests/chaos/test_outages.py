"""Kafka or Temporal is away in the middle of a repair: it waits, and goes on to the same end."""

import asyncio
import contextlib

import pytest

from gpuward.contracts.errors import Transient
from gpuward.contracts.outcomes import OutcomeKind

AWAY_S = 30


@pytest.mark.soak
@pytest.mark.parametrize("server", ["kafka", "temporal"])
async def test_a_server_killed_midway_delays_the_repair_and_changes_nothing_else(fleet, patient, server):
    before = dict(fleet.restarts)
    await patient.falls_off_the_bus()
    await patient.reaches("draining", "repairing", "validating")
    away = getattr(fleet.stack, server)
    await away.kill()
    await asyncio.sleep(AWAY_S)
    await away.start()
    await patient.heals(within_s=150)
    assert await patient.count("reboot") == 1
    await patient.never_twice()
    assert fleet.restarts == before


async def test_a_stop_without_kafka_is_acknowledged_and_holds_until_a_resume(fleet, pair):
    first, waiting = pair
    await fleet.world.misbehave(first.node, "act_delayed", delay_s=8)  # its slot is charged while the other asks
    await first.falls_off_the_bus()
    await first.reaches("draining", "repairing")
    await waiting.falls_off_the_bus()
    await fleet.ledger.until(lambda _: _queued(fleet, waiting), 60, f"{waiting.node} in line")

    await fleet.stack.kafka.kill()
    code, out, _ = await fleet.command("stop", first.pool, "--reason", "a storm")
    assert code == 0
    assert "is stopped" in out
    began = await _acts(waiting)
    # Without Kafka the first repair ends all the same; its slot is free, and only the stop keeps the other waiting.
    await _back(fleet, first.node)
    await asyncio.sleep(5)
    assert began == await _acts(waiting) == (0, 0)

    await fleet.stack.kafka.start()
    await first.heals()
    assert await _acts(waiting) == (0, 0)
    await fleet.command("resume", first.pool)
    await waiting.heals()
    for one in pair:
        assert await one.count("reboot") == 1
        await one.never_twice()


def _queued(fleet, patient):
    decisions = fleet.ledger.of(patient.pool, what=OutcomeKind.DECISION)
    return any(o.name == "queued" and o.details.get("node") == patient.node for o in decisions)


async def _acts(patient):
    return await patient.count("evict"), await patient.count("reboot")


async def _back(fleet, node):
    """Waits until it is up, whole, and handed back."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(Transient):  # it boots
                host = await fleet.world.host(node)
                if not host.cordons and all(gpu.session for gpu in host.gpus):
                    return
            await asyncio.sleep(0.5)
