"""One fault on one GPU, event in to remediation out, everything real."""

from gpuward.contracts.outcomes import OutcomeKind


async def test_xid_79_ends_with_one_reboot_and_a_node_handed_back(fleet, rack):
    node = f"{rack}-n01"
    uuid = await fleet.gpu(node)
    gpu, entity, pool = f"gpu/{uuid}", f"node/{node}", f"pool/pool-{rack}"
    await fleet.born(gpu, entity, f"rack/{rack}", pool)
    before = await fleet.world.counts()

    await fleet.world.inject(node=node, gpu=uuid, fault="xid", code=79)
    await fleet.ledger.until(
        lambda _: (
            fleet.ledger.edges(gpu)[-1:] == [("validating", "healthy")]
            and fleet.ledger.edges(entity)[-1:] == [("validating", "healthy")]
        ),
        90,
        "the repair",
    )

    counts = await fleet.world.counts()
    assert counts.of(node, "reboot") - before.of(node, "reboot") == 1
    assert counts.of(node, "power_cycle") == counts.of(node, "reset") == 0
    assert fleet.ledger.edges(gpu) == [
        ("healthy", "failed"),
        ("failed", "draining"),
        ("draining", "repairing"),
        ("repairing", "validating"),
        ("validating", "healthy"),
    ]
    assert fleet.ledger.edges(entity) == [
        ("healthy", "degraded"),
        ("degraded", "draining"),
        ("draining", "repairing"),
        ("repairing", "validating"),
        ("validating", "healthy"),
    ]
    await fleet.ledger.until(lambda _: fleet.moves(pool)[-1:] == [("begun", "free")], 30, "the slot's release")
    assert fleet.moves(pool) == [("free", "granted"), ("granted", "begun"), ("begun", "free")]
    steps = [o.name for o in fleet.ledger.of(entity) if o.what in (OutcomeKind.STEP, OutcomeKind.ACT)]
    assert sorted(steps[2:4]) == ["evidence", "node.evict"]  # side by side
    assert steps[:2] + steps[4:] == ["recheck", "cordon", "node.reboot", "session", "validate"]
    host = await fleet.world.host(node)
    assert not host.cordons
    code, story, _ = await fleet.command("why", gpu)
    assert code == 0
    assert "fleet.observations.v1" in story
    assert "node.reboot" in story
