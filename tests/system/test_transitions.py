"""What a repair costs the server, counted exactly from histories: it is the same on any machine."""

from tests.component.workflows import transitions


async def test_a_whole_gpu_reset_costs_at_most_40_workflow_tasks_and_a_repeated_fault_nearly_none(fleet, rack):
    node = f"{rack}-n01"
    gpu, entity, pool = f"gpu/{await fleet.gpu(node)}", f"node/{node}", f"pool/pool-{rack}"
    actors = [gpu, entity, f"rack/{rack}", pool]
    await fleet.born(*actors)
    await fleet.quiet(*actors)
    before = await transitions.total(fleet.client, actors)

    await fleet.world.inject(node=node, fault="dram")
    await fleet.ledger.until(lambda _: fleet.moves(pool)[-1:] == [("begun", "free")], 90, "the repair")
    await fleet.quiet(*actors)

    (started,) = [o for o in fleet.ledger.of(entity) if o.name == "started"]
    child = f"remediation/{node}/{started.cause.plan}/{started.cause.attempt}"
    cost = await transitions.total(fleet.client, [*actors, child]) - before
    # The fault clears by itself afterwards, when the streams see the new driver session: at most two tasks more.
    assert cost <= 40 + 2


async def test_a_fault_that_is_repeated_and_changes_nothing_costs_one_task(fleet, rack):
    node = f"{rack}-n01"
    gpu = f"gpu/{await fleet.gpu(node)}"
    others = [f"node/{node}", f"rack/{rack}", f"pool/pool-{rack}"]
    await fleet.born(gpu, *others)
    await fleet.world.inject(node=node, fault="xid", code=31)
    await fleet.ledger.until(lambda _: fleet.ledger.of(gpu), 60, "the record")
    await fleet.quiet(gpu, *others)
    before, around = await transitions.total(fleet.client, [gpu]), await transitions.total(fleet.client, others)
    raised = next(f for f in fleet.ledger.faults if f["entity"] == gpu)
    again = {**raised, "phase": "updated", "count": 2, "revision": [*raised["revision"][:3], raised["revision"][3] + 1]}
    await fleet.client.get_workflow_handle(gpu).signal("deliver", [again])
    await fleet.quiet(gpu)
    assert await transitions.total(fleet.client, [gpu]) - before == 1
    assert await transitions.total(fleet.client, others) == around
