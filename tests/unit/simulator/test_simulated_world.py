"""The world breaks, obeys and takes its time as real machines do."""

from __future__ import annotations

import pytest

from gpuward.simulator import acts, faults, misbehaviour, views, world
from gpuward.simulator.durations import Durations
from gpuward.simulator.faults import Injection
from gpuward.simulator.layout import Layout, build
from gpuward.simulator.state import Level, Misbehaviour, NodeState, WorldState

T0 = 1_790_000_000.0
NODE = "r01-n01"


@pytest.fixture
def state() -> WorldState:
    state = build(Layout(racks=1, nodes_per_rack=2, gpus_per_node=8, seed=7), Durations(scale=60))
    world.begin(state, T0)
    return state


@pytest.fixture
def node(state: WorldState) -> NodeState:
    return state.node(NODE)


def _drain(state: WorldState, node: NodeState, now: float) -> float:
    acts.cordon(state, node.name, now, "gpuward", "test", lease=True)
    acts.evict(state, node.name, now, "immediate", 0)
    world.advance(state, now + 1)
    assert not node.workload
    return now + 1


def _texts(node: NodeState) -> list[str]:
    return [line.text for line in node.log]


def test_the_same_seed_gives_the_same_world() -> None:
    layout = Layout(racks=2, nodes_per_rack=3, gpus_per_node=4, seed=11)
    first, second = build(layout), build(layout)
    for each in (first, second):
        world.begin(each, T0)
    assert first.model_dump() == second.model_dump()
    assert build(layout.model_copy(update={"seed": 12})).node(NODE).gpus[0].uuid != first.node(NODE).gpus[0].uuid


def test_every_identity_is_unique() -> None:
    state = build(Layout(racks=3, nodes_per_rack=4, gpus_per_node=8))
    gpus = [gpu for node in state.nodes.values() for gpu in node.gpus]
    assert len({gpu.uuid for gpu in gpus}) == len({gpu.serial for gpu in gpus}) == 96
    assert len({node.smbios_uuid for node in state.nodes.values()}) == 12


def test_boot_prints_which_gpu_sits_where(node: NodeState) -> None:
    for gpu in node.gpus:
        assert f"NVRM: GPU at PCI:{gpu.slot[:-2]}: {gpu.uuid}" in _texts(node)
    assert [line.sequence for line in node.log] == list(range(len(node.log)))


def test_a_79_survives_a_reset_and_goes_with_a_reboot(state: WorldState, node: NodeState) -> None:
    gpu = node.gpus[3]
    faults.inject(state, T0, Injection(node=NODE, gpu=3, code=79))
    slot = gpu.slot[:-2]
    assert f"NVRM: Xid (PCI:{slot}): 79, pid=41235, name=python3, GPU has fallen off the bus." in _texts(node)
    now = _drain(state, node, T0)

    answer = acts.reset(state, NODE, now, [gpu.uuid])
    assert (answer.status, answer.body["code"]) == (409, 15)
    assert views.host(node, now).gpus[3].state == "lost"
    assert views.host(node, now).gpus[3].recovery_action is None

    before = node.boot_id
    acts.reboot(state, NODE, now)
    world.advance(state, now + 5)
    assert not node.up
    assert node.boot_id == before
    world.advance(state, now + 20)
    assert node.up
    assert node.boot_id != before
    assert views.host(node, now + 20).gpus[3].state == "ok"


def test_a_79_that_needs_a_power_cycle_is_absent_after_a_reboot(state: WorldState, node: NodeState) -> None:
    gpu = node.gpus[0]
    faults.inject(state, T0, Injection(gpu=gpu.uuid, code=79, needs=Level.POWER_CYCLE))
    acts.reboot(state, NODE, T0)
    world.advance(state, T0 + 21)
    assert gpu.lost
    assert f"NVRM: The NVIDIA GPU {gpu.slot}" in _texts(node)
    acts.power_cycle(state, node.bmc, T0 + 21)
    assert (node.up, node.power) == (False, "off")
    world.advance(state, T0 + 50)
    assert not gpu.lost
    assert gpu.session


def test_a_dram_burst_clears_with_a_reset(state: WorldState, node: NodeState) -> None:
    gpu = node.gpus[1]
    faults.inject(state, T0, Injection(node=NODE, gpu=1, fault="dram"))
    assert gpu.remap_pending
    assert gpu.xids == [48, 63, 154]
    assert "changed from 0x0 (None) to 0x4 (Drain and Reset)" in _texts(node)[-1]
    now = _drain(state, node, T0)
    before = gpu.session, node.gpus[0].session, node.boot_id
    acts.reset(state, NODE, now, [gpu.uuid])
    assert views.host(node, now).gpus[1].state == "resetting"
    world.advance(state, now + 2)
    assert gpu.session not in ("", before[0])
    assert (node.gpus[0].session, node.boot_id) == before[1:]
    assert (gpu.remap_pending, gpu.recovery_action, gpu.ecc_dbe, gpu.xids) == (False, 0, 0, [])


def test_a_gpu_in_use_is_not_reset(state: WorldState, node: NodeState) -> None:
    answer = acts.reset(state, NODE, T0, [node.gpus[0].uuid])
    assert (answer.status, answer.body["code"]) == (409, 19)


@pytest.mark.parametrize("code", [13, 31, 43, 45, 999])
def test_noise_leaves_nothing_behind(state: WorldState, node: NodeState, code: int) -> None:
    faults.inject(state, T0, Injection(node=NODE, code=code))
    gpu = node.gpus[0]
    assert (gpu.lost, gpu.recovery_action, gpu.needs) == (False, 0, Level.NONE)
    assert gpu.xids == [code]


def test_a_154_shows_in_the_sample_until_a_reset(state: WorldState, node: NodeState) -> None:
    faults.inject(state, T0, Injection(node=NODE, gpu=2, code=154, to=1))
    seen = views.poll(state, T0, {}, "").samples[0]
    assert seen.columns["recovery_action"] == [0, 0, 1, 0, 0, 0, 0, 0]
    now = _drain(state, node, T0)
    acts.reset(state, NODE, now, [node.gpus[2].uuid])
    world.advance(state, now + 2)
    assert node.gpus[2].recovery_action == 0


def test_a_reboot_starts_the_kernel_log_anew(state: WorldState, node: NodeState) -> None:
    before = node.boot_id
    acts.reboot(state, NODE, T0)
    world.advance(state, T0 + 21)
    current = [line.sequence for line in node.log if line.boot_id == node.boot_id]
    assert current == list(range(len(current)))
    assert "reboot: Restarting system" in [line.text for line in node.log if line.boot_id == before]


def test_every_act_counts_and_twice_is_twice(state: WorldState, node: NodeState) -> None:
    for _ in range(2):
        acts.power_cycle(state, node.bmc, T0)
    acts.reset(state, NODE, T0, ["GPU-none"])
    assert [(act.kind, act.answer) for act in state.acts] == [
        ("power_cycle", "202"),
        ("power_cycle", "202"),
        ("reset", f"{NODE} does not answer"),
    ]


def test_an_act_may_be_accepted_and_not_done(state: WorldState, node: NodeState) -> None:
    misbehaviour.misbehave(state, node, Misbehaviour(how="accept_and_do_nothing", acts=("reboot",)))
    before = node.boot_id
    assert acts.reboot(state, NODE, T0).status == 202
    world.advance(state, T0 + 100)
    assert node.boot_id == before
    acts.reboot(state, NODE, T0 + 100)
    world.advance(state, T0 + 130)
    assert node.boot_id != before


def test_an_answer_may_be_lost(state: WorldState, node: NodeState) -> None:
    misbehaviour.misbehave(state, node, Misbehaviour(how="act_and_lose_answer"))
    assert acts.reboot(state, NODE, T0).lost
    world.advance(state, T0 + 30)
    assert node.boots == 2


def test_an_act_may_come_late(state: WorldState, node: NodeState) -> None:
    misbehaviour.misbehave(state, node, Misbehaviour(how="act_delayed", delay_s=50))
    acts.reboot(state, NODE, T0)
    world.advance(state, T0 + 49)
    assert (node.up, node.boots) == (True, 1)
    world.advance(state, T0 + 50 + 21)
    assert node.boots == 2


def test_a_reboot_may_hang_until_the_power_is_cycled(state: WorldState, node: NodeState) -> None:
    misbehaviour.misbehave(state, node, Misbehaviour(how="hang_reboot"))
    acts.reboot(state, NODE, T0)
    world.advance(state, T0 + 1000)
    assert not node.up
    acts.power_cycle(state, node.bmc, T0 + 1000)
    world.advance(state, T0 + 1030)
    assert node.up


def test_a_bmc_may_lead_to_the_neighbour(state: WorldState, node: NodeState) -> None:
    misbehaviour.misbehave(state, node, Misbehaviour(how="mapped_to_neighbour"))
    assert views.bmc(state, node.bmc).system_uuid == state.node("r01-n02").smbios_uuid
    acts.power_cycle(state, node.bmc, T0)
    assert (state.acts[-1].node, state.acts[-1].via) == ("r01-n02", node.bmc)
    assert node.up


def test_a_silent_node_says_nothing_and_catches_up(state: WorldState, node: NodeState) -> None:
    cursors = views.poll(state, T0, {}, "").cursors
    misbehaviour.misbehave(state, node, Misbehaviour(how="silent"))
    faults.inject(state, T0, Injection(node=NODE, code=31))
    faults.inject(state, T0, Injection(node="r01-n02", code=31))
    heard = views.poll(state, T0, cursors, "")
    assert [seen.node for seen in heard.samples] == ["r01-n02"]
    assert [line[1] for line in heard.lines] == ["r01-n02"]
    misbehaviour.misbehave(state, node, Misbehaviour(how="behave"))
    late = views.poll(state, T0, cursors | heard.cursors, "")
    assert [line[1] for line in late.lines] == [NODE]


def test_a_moved_gpu_is_the_same_board_elsewhere(state: WorldState, node: NodeState) -> None:
    gpu, boots = node.gpus[0], node.boot_id
    misbehaviour.move_gpu(state, T0 + 5, gpu.uuid, "r01-n02")
    target = state.node("r01-n02")
    assert (len(node.gpus), len(target.gpus)) == (7, 9)
    assert target.gpus[-1] is gpu
    assert len({each.slot for each in target.gpus}) == 9
    assert node.boot_id != boots
    faults.inject(state, T0 + 6, Injection(node=NODE, fault="kernel", lines=["late"], boot_id=boots))
    assert next(line for line in node.log if line.text == "late").boot_id == boots


def test_a_persons_cordon_stands_beside_ours(state: WorldState, node: NodeState) -> None:
    node.cordons["person/alex"] = "looking"
    answer = acts.cordon(state, NODE, T0, "gpuward", "plan", lease=True)
    assert answer.body["others"] == {"person/alex": "looking"}
    acts.uncordon(state, NODE, T0, "gpuward")
    assert node.cordons == {"person/alex": "looking"}
    assert node.lease == ""


def test_a_lease_held_by_another_is_not_taken(state: WorldState, node: NodeState) -> None:
    node.lease = "other-controller"
    assert acts.cordon(state, NODE, T0, "gpuward", "plan", lease=True).status == 409
    assert not node.cordons


def test_work_comes_back_once_nobody_keeps_it_off(state: WorldState, node: NodeState) -> None:
    now = _drain(state, node, T0)
    world.advance(state, now + 100)
    assert not node.workload
    acts.uncordon(state, NODE, now + 100, "gpuward")
    world.advance(state, now + 100)
    world.advance(state, now + 110)
    assert node.workload


@pytest.mark.parametrize(("mode", "gone_after_s"), [("immediate", 0.5), ("deadline", 10), ("allow_completion", 30)])
def test_work_goes_as_the_mode_says(state: WorldState, node: NodeState, mode: str, gone_after_s: float) -> None:
    acts.cordon(state, NODE, T0, "gpuward", "")
    acts.evict(state, NODE, T0, mode, 10)
    world.advance(state, T0 + gone_after_s - 0.1)
    assert node.workload
    world.advance(state, T0 + gone_after_s)
    assert not node.workload


def test_a_diagnostic_finds_what_nothing_else_shows(state: WorldState, node: NodeState) -> None:
    node.gpus[4].defect = True
    for level, passed in ((1, True), (2, False)):
        acts.validate(state, NODE, T0, level)
        assert node.diagnostic is not None
        assert node.diagnostic.passed is None
        world.advance(state, T0 + 10)
        assert node.diagnostic.passed is passed


def test_a_storm_is_spread_over_the_rack(state: WorldState) -> None:
    faults.inject(state, T0, Injection(rack="r01", code=45, count=1600))
    polled = views.poll(state, T0, {}, "", limit=1000)
    assert polled.more
    assert not polled.samples
    rest = views.poll(state, T0, polled.cursors, "")
    assert sum(", 45" in line[5] or ": 45," in line[5] for line in [*polled.lines, *rest.lines]) == 1600


def test_nonsense_is_refused_with_a_sentence(state: WorldState, node: NodeState) -> None:
    with pytest.raises(KeyError, match="no node r99"):
        faults.inject(state, T0, Injection(node="r99"))
    with pytest.raises(ValueError, match="no fault is called"):
        faults.inject(state, T0, Injection(node=NODE, fault="gremlin"))
    with pytest.raises(ValueError, match="no misbehaviour"):
        misbehaviour.misbehave(state, node, Misbehaviour(how="sulk"))
    with pytest.raises(KeyError, match="no BMC"):
        acts.power_cycle(state, "bmc-nowhere", T0)
