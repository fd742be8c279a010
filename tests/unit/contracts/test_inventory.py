from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuward.contracts.inventory import GpuSeat, NodeInventory, merge
from gpuward.contracts.seat import Address

T0 = datetime(2026, 3, 2, tzinfo=UTC)
GPU = GpuSeat(gpu="GPU-11111111-2222-3333-4444-555555555555", slot="0000:03:00.0", domain="d1")
POOLS = {"gold": {"tier": "gold"}, "rest": {}}


def record(source, seconds, **more):
    return NodeInventory(node="n1", source=source, time=T0 + timedelta(seconds=seconds), **more)


def test_sources_are_joined_and_the_newest_word_wins():
    merged = merge(
        [
            record("agent", 5, boot_id="b2", gpus=(GPU,), address=Address(smbios_uuid="s1")),
            record("site", 1, rack="r1", labels={"tier": "gold"}, address=Address(provider="redfish", bmc="10.0.0.1")),
            record("agent", 2, boot_id="b1"),
        ],
        POOLS,
    )
    assert merged is not None
    assert (merged.boot_id, merged.rack, merged.pool, merged.gpus) == ("b2", "r1", "gold", (GPU,))
    assert merged.address == Address(provider="redfish", bmc="10.0.0.1", smbios_uuid="s1")
    assert merged.seat(GPU).actionable


def test_a_node_without_rack_is_watch_only():
    merged = merge([record("agent", 0, address=Address(provider="x", smbios_uuid="s"))], POOLS)
    assert merged is not None
    assert merged.pool == "rest"
    assert not merged.seat().actionable


def test_a_node_is_removed_when_every_source_says_so():
    assert merge([record("a", 0, removed=True), record("b", 0)], POOLS).removed is False
    assert merge([record("a", 0, removed=True)], POOLS).removed is True


def test_records_of_two_nodes_are_never_merged():
    other = NodeInventory(node="n2", source="a", time=T0)
    with pytest.raises(ValueError, match="several nodes"):
        merge([record("a", 0), other], POOLS)


@given(st.permutations(range(4)))
def test_law_the_merge_does_not_depend_on_the_order_of_arrival(order):
    records = [record(f"s{i % 2}", i, labels={"k": str(i)}, boot_id=f"b{i}") for i in range(4)]
    assert merge([records[i] for i in order], POOLS) == merge(records, POOLS)
