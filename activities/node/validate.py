"""`node.validate`: measures that what was repaired is well under this boot: the GPUs named, or the whole node.

Law: what could not be measured did not pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from temporalio import activity

from activities.heartbeat import beating
from activities.power import Declined, Diagnosis, Gpu, Host, Power, Unreachable
from activities.powers import Powers, power_of
from gpuward.contracts.acts import NodeAct, Validation
from gpuward.contracts.errors import Refused

_CHECKS: dict[str, Callable[[Gpu], bool]] = {
    "present": lambda gpu: gpu.state == "ok",
    "session": lambda gpu: bool(gpu.session),
    "recovery_action": lambda gpu: gpu.recovery_action == 0,
    "remap_pending": lambda gpu: gpu.remap_pending is False,
    "remap_failure": lambda gpu: gpu.remap_failure is False,
    "ecc": lambda gpu: gpu.ecc_dbe_volatile == 0,
}
"""Check of every GPU of the node, by name; a None fails each of them."""


class Validate:
    """First what can be read at once, then the diagnostic of the level that policy asks for, then the boot again."""

    def __init__(self, powers: Powers, *, poll_s: float = 1.0) -> None:
        self._powers = powers
        self._poll_s = poll_s

    @activity.defn(name="node.validate")
    async def validate(self, act: NodeAct) -> Validation:
        """Raises Transient where the host does not answer, so that it is measured again."""
        async with beating():
            try:
                power = power_of(self._powers, act)
            except Refused as refused:
                return Validation(passed=False, failed=("seat",), reason=refused.reason)
            host = await power.host(act.node)
            wrong = dict(_wrong(host, act))
            if not wrong and act.limits.validate_level > 0:
                wrong |= await self._diagnosed(power, act)
                wrong |= dict(_wrong(await power.host(act.node), act))
            reason = "; ".join(f"{name}: {what}" for name, what in wrong.items())
            return Validation(passed=not wrong, boot_id=host.boot_id, failed=tuple(wrong), reason=reason)

    async def _diagnosed(self, power: Power, act: NodeAct) -> dict[str, str]:
        level = act.limits.validate_level
        try:
            await power.diagnose(act.node, level)
            found = await self._finished(power, act)
        except (Unreachable, Declined) as error:
            return {"diagnostic": str(error)}
        if found is None:
            return {"diagnostic": f"the diagnostic of level {level} was broken off"}
        failed = [test for test in found.failed if _is_judged(test, act)]
        passed = found.passed or (found.failed and not failed)
        return {} if passed and found.level >= level else {"diagnostic": ", ".join(failed) or "failed"}

    async def _finished(self, power: Power, act: NodeAct) -> Diagnosis | None:
        while True:
            found = await power.diagnosis(act.node)
            if found is None or found.passed is not None:
                return found
            await asyncio.sleep(self._poll_s)


def _is_judged(what: str, act: NodeAct) -> bool:
    """A repair of some GPUs is judged by these: another that failed meanwhile has a claim and an attempt of its own.

    `what` is a UUID, or a diagnostic's `test:UUID`; one that names no GPU is always judged.
    """
    uuid = what.rpartition(":")[2]
    return act.whole_node or not act.gpus or not uuid.startswith("GPU-") or uuid in act.gpus


def _wrong(host: Host, act: NodeAct) -> Iterator[tuple[str, str]]:
    """Name of each failed check, and on what."""
    if host.boot_id != act.boot_id:
        yield "boot", f"{host.node} runs under {host.boot_id}, not {act.boot_id}"
    if host.smbios_uuid.lower() != act.seat.address.smbios_uuid.lower():
        yield "identity", f"{host.node} says it is {host.smbios_uuid}"
    absent = [uuid for uuid in act.gpus if host.gpu(uuid) is None]
    if absent or len(host.gpus) < host.expected_gpus or not host.gpus:
        yield "inventory", f"{len(host.gpus)} of {host.expected_gpus} GPUs; not there: {', '.join(absent) or 'unknown'}"
    for name, passes in _CHECKS.items():
        if failed := [gpu.uuid for gpu in host.gpus if _is_judged(gpu.uuid, act) and not passes(gpu)]:
            yield name, ", ".join(failed)
