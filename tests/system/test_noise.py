"""What looks bad and is not, what is bad and says little: the remedy fits the cause, and noise disturbs nobody."""

import asyncio

from gpuward.contracts.outcomes import OutcomeKind


async def test_a_memory_error_burst_is_one_incident_and_one_reset(fleet, rack):
    node = f"{rack}-n01"
    gpu = f"gpu/{await fleet.gpu(node)}"
    await fleet.born(gpu, f"node/{node}", f"pool/pool-{rack}")
    await fleet.world.inject(node=node, fault="dram")  # 48 + 63 + 154(0x4) within a second
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(f"node/{node}")[-1:] == [("validating", "healthy")], 90, "the repair"
    )
    assert len(fleet.ledger.of(gpu, what=OutcomeKind.INCIDENT_OPENED)) == 1
    counts = await fleet.world.counts()
    assert (counts.of(node, "reset"), counts.of(node, "reboot"), counts.of(node, "evict")) == (1, 0, 1)


async def test_a_gpu_off_the_bus_is_rebooted_even_where_the_driver_asks_for_a_reset(fleet, rack):
    node = f"{rack}-n01"
    gpu = f"gpu/{await fleet.gpu(node)}"
    await fleet.born(gpu, f"node/{node}", f"pool/pool-{rack}")
    await fleet.world.inject(node=node, fault="xid", code=79)
    await fleet.world.inject(node=node, fault="xid", code=154, to=1)
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(f"node/{node}")[-1:] == [("validating", "healthy")], 90, "the repair"
    )
    counts = await fleet.world.counts()
    assert (counts.of(node, "reset"), counts.of(node, "reboot")) == (0, 1)


async def test_an_application_fault_is_recorded_and_disturbs_nothing(fleet, rack):
    node = f"{rack}-n01"
    gpu = f"gpu/{await fleet.gpu(node)}"
    await fleet.born(gpu, f"node/{node}", f"pool/pool-{rack}")
    await fleet.world.inject(node=node, fault="xid", code=31)
    await fleet.ledger.until(lambda _: fleet.ledger.of(gpu, what=OutcomeKind.RECORDED), 60, "the record of the Xid 31")
    assert fleet.ledger.edges(gpu) == fleet.ledger.edges(f"node/{node}") == []
    assert not (await fleet.world.counts()).totals.get(node)


async def test_an_unknown_xid_is_cordoned_and_a_person_asked_and_nothing_is_reset(fleet, rack):
    node = f"{rack}-n01"
    entity = f"node/{node}"
    gpu = f"gpu/{await fleet.gpu(node)}"
    await fleet.born(gpu, entity, f"pool/pool-{rack}")
    await fleet.world.inject(node=node, fault="xid", code=999)
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(entity)[-1:] and fleet.ledger.edges(entity)[-1][1] == "quarantined",
        60,
        "quarantine",
    )
    await fleet.ledger.until(
        lambda all_: any(o.what is OutcomeKind.PERSON_ASKED and node in str(o.entity) for o in all_), 30, "the question"
    )
    assert "gpuward" in str((await fleet.world.host(node)).cordons)
    counts = await fleet.world.counts()
    assert (
        counts.of(node, "reset"),
        counts.of(node, "reboot"),
        counts.of(node, "power_cycle"),
        counts.of(node, "evict"),
    ) == (0, 0, 0, 0)
    assert ("free", "granted") in fleet.moves(f"pool/pool-{rack}")  # the cordon takes a slot of the budget


async def test_a_storm_of_teardown_xids_opens_nothing(fleet, rack):
    nodes = [f"{rack}-n0{i}" for i in (1, 2, 3)]
    gpus = [f"gpu/{await fleet.gpu(node, i)}" for node in nodes for i in (0, 1)]
    await fleet.born(*gpus, *(f"node/{node}" for node in nodes), f"pool/pool-{rack}")
    concerned = {*gpus, *(f"node/{node}" for node in nodes), f"rack/{rack}", f"pool/pool-{rack}"}
    outcomes, faults = len(fleet.ledger.outcomes), len(fleet.ledger.faults)
    await fleet.world.inject(rack=rack, fault="xid", code=45, count=20_000)
    # A fault behind the storm on the same node proves that all of it was read.
    await fleet.world.inject(node=nodes[0], fault="xid", code=31)
    last = f"gpu/{await fleet.gpu(nodes[0])}"
    await fleet.ledger.until(
        lambda _: fleet.ledger.of(last, what=OutcomeKind.RECORDED), 120, "the fault behind the storm"
    )
    await asyncio.sleep(1)
    new = [o for o in fleet.ledger.outcomes[outcomes:] if str(o.entity) in concerned]
    raised = [f for f in fleet.ledger.faults[faults:] if f["entity"] in concerned]
    assert len(new) + len(raised) <= 20
    assert not [o for o in new if o.what is OutcomeKind.INCIDENT_OPENED]


async def test_a_fault_that_clears_itself_before_the_act_disturbs_nothing_more(fleet, rack):
    node = f"{rack}-n01"
    gpu = f"gpu/{await fleet.gpu(node)}"
    await fleet.born(gpu, f"node/{node}", f"pool/pool-{rack}")
    await fleet.command("stop", f"pool-{rack}", "--reason", "freeze")
    await fleet.world.inject(node=node, fault="xid", code=154, to=1)
    await fleet.ledger.until(lambda _: fleet.ledger.of(gpu, what=OutcomeKind.INCIDENT_OPENED), 60, "the incident")
    await fleet.world.inject(node=node, fault="xid", code=154, to=0)
    await fleet.ledger.until(lambda _: fleet.ledger.of(gpu, what=OutcomeKind.INCIDENT_CLOSED), 60, "its end")
    await fleet.command("resume", f"pool-{rack}")
    counts = await fleet.world.counts()
    assert (counts.of(node, "reset"), counts.of(node, "reboot")) == (0, 0)


async def test_a_person_says_no_and_then_takes_the_node_back(fleet, rack):
    node = f"{rack}-n01"
    entity = f"node/{node}"
    await fleet.born(f"gpu/{await fleet.gpu(node)}", entity, f"pool/pool-{rack}")
    code, _, said = await fleet.command("approve", node, check=False)
    assert code == 1
    assert "asks nothing" in said
    await fleet.world.inject(node=node, fault="xid", code=999)
    await fleet.ledger.until(lambda _: fleet.ledger.of(entity, what=OutcomeKind.PERSON_ASKED), 60, "the question")
    await fleet.command("reject", node, "--reason", "not before the run ends")
    assert "gpuward" in (await fleet.world.host(node)).cordons
    await fleet.command("release", node)
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(entity)[-1:] and fleet.ledger.edges(entity)[-1][1] == "healthy",
        60,
        "the hand-back",
    )
    assert not (await fleet.world.host(node)).cordons


async def test_a_person_approves_and_the_node_comes_back(fleet, rack):
    node = f"{rack}-n01"
    entity = f"node/{node}"
    await fleet.born(f"gpu/{await fleet.gpu(node)}", entity, f"pool/pool-{rack}")
    await fleet.world.inject(node=node, fault="xid", code=999)
    await fleet.ledger.until(lambda _: fleet.ledger.of(entity, what=OutcomeKind.PERSON_ASKED), 60, "the question")
    await fleet.command("approve", node, "--reason", "seen before, harmless")
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(entity)[-1:] and fleet.ledger.edges(entity)[-1][1] == "healthy",
        60,
        "the hand-back",
    )
    assert not (await fleet.world.host(node)).cordons
