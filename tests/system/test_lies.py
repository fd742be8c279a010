"""Machines that lie: nothing is done to the wrong one, nothing is done twice, and nobody pretends that it helped."""

from gpuward.contracts.outcomes import OutcomeKind


def _quarantined(fleet, node):
    return lambda _: (
        fleet.ledger.edges(f"node/{node}")[-1:] and fleet.ledger.edges(f"node/{node}")[-1][1] == "quarantined"
    )


async def _ready(fleet, rack):
    node = f"{rack}-n01"
    gpu = f"gpu/{await fleet.gpu(node)}"
    await fleet.born(gpu, f"node/{node}", f"pool/pool-{rack}")
    return node, gpu


async def test_an_act_that_is_accepted_and_does_nothing_stops_the_ladder_and_asks_a_person(fleet, rack):
    node, _ = await _ready(fleet, rack)
    await fleet.world.misbehave(node, "accept_and_do_nothing", times=10)
    await fleet.world.inject(node=node, fault="xid", code=79)
    await fleet.ledger.until(_quarantined(fleet, node), 120, "quarantine")
    counts = await fleet.world.counts()
    assert (counts.of(node, "reboot"), counts.of(node, "power_cycle")) == (1, 0)
    code, out, _ = await fleet.command("get", "node", node)
    assert code == 0
    assert "approve" in out.lower()


async def test_an_act_whose_answer_is_lost_is_observed_and_not_issued_again(fleet, rack):
    node, _ = await _ready(fleet, rack)
    await fleet.world.misbehave(node, "act_and_lose_answer")
    await fleet.world.inject(node=node, fault="xid", code=79)
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(f"node/{node}")[-1:] == [("validating", "healthy")], 120, "the repair"
    )
    assert (await fleet.world.counts()).of(node, "reboot") == 1
    acts = [o for o in fleet.ledger.of(f"node/{node}", what=OutcomeKind.ACT) if o.name == "node.reboot"]
    assert [o.result for o in acts if o.result] == ["unknown"]


async def test_a_bmc_that_leads_to_the_neighbour_is_refused_and_nothing_is_touched(fleet, rack):
    node, _ = await _ready(fleet, rack)
    await fleet.world.misbehave(node, "mapped_to_neighbour")
    await fleet.world.inject(node=node, fault="xid", code=79)
    refused = await fleet.ledger.until(
        lambda _: [o for o in fleet.ledger.of(f"node/{node}") if o.result == "refused"], 90, "the refusal"
    )
    assert any("identity" in o.text for o in refused)
    totals = (await fleet.world.counts()).totals
    for name in (node, f"{rack}-n02", f"{rack}-n03"):
        assert {"reset", "reboot", "power_cycle", "evict"}.isdisjoint(totals.get(name, {}))


async def test_a_fault_of_an_earlier_boot_touches_nothing(fleet, rack):
    node, gpu = await _ready(fleet, rack)
    host = await fleet.world.host(node)
    await fleet.world.act(node, "reboot")  # somebody else booted it; this counts once
    await fleet.ledger.until(
        lambda _: [o for o in fleet.ledger.of(f"node/{node}") if o.name == "inventory" and host.boot_id not in o.text],
        60,
        "the new boot",
    )
    line = f"NVRM: Xid (PCI:{host.gpus[0].slot[:-2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    await fleet.world.inject(node=node, fault="kernel", lines=[line], boot_id=host.boot_id)
    await fleet.ledger.until(
        lambda all_: [o for o in all_ if str(o.entity) in (gpu, f"node/{node}") and o.name == "earlier_boot"],
        60,
        "the record of the late line",
    )
    counts = await fleet.world.counts()
    assert (counts.of(node, "reboot"), counts.of(node, "power_cycle")) == (1, 0)


async def test_a_gpu_moved_to_another_node_is_the_same_actor_in_a_new_seat(fleet, rack):
    source, target = f"{rack}-n01", f"{rack}-n02"
    uuid = await fleet.gpu(source)
    gpu = f"gpu/{uuid}"
    await fleet.born(gpu, f"node/{source}", f"node/{target}", f"pool/pool-{rack}")
    old = await fleet.world.host(source)
    await fleet.world.move_gpu(uuid, target)
    await fleet.ledger.until(lambda _: fleet.ledger.of(gpu, what=OutcomeKind.RESEATED), 60, "the new seat")
    slot = next(g.slot for g in old.gpus if g.uuid == uuid)
    line = f"NVRM: Xid (PCI:{slot[:-2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    await fleet.world.inject(node=source, fault="kernel", lines=[line], boot_id=old.boot_id)
    await fleet.world.inject(node=target, gpu=uuid, fault="xid", code=79)
    await fleet.ledger.until(
        lambda _: fleet.ledger.edges(f"node/{target}")[-1:] == [("validating", "healthy")], 120, "the repair"
    )
    counts = await fleet.world.counts()
    assert (counts.of(target, "reboot"), counts.of(source, "reboot")) == (1, 0)
