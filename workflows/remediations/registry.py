"""Which remedies can be run, by name."""

from __future__ import annotations

from gpuward.contracts.remedies import Remedy
from workflows.remediations import ask_person, drain, power_cycle_node, reboot_node, reset_gpu
from workflows.remediations.steps import Repair

REPAIRS: dict[Remedy, Repair] = {
    module.REPAIR.remedy: module.REPAIR for module in (drain, reset_gpu, reboot_node, power_cycle_node, ask_person)
}
