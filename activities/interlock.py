"""What is checked before every irreversible act, immediately before it, in this order.

    seat        rack, pool and a provable address are known, and a power reaches it
    mode        the pool acts (not `watch`), and this is no dry run
    deadline    the right to act has not ended
    identity    the BMC's system UUID = the seat's SMBIOS UUID = what the host reports under this boot
    boot        the host runs under the very boot that the fault was seen under
    condition   the GPUs named sit on this node, and what was claimed of them still stands
    begin       the pool guard accepts `begin` within 5 s: it alone knows of stops and of what has begun

Whatever is wrong or cannot be read is `refused`, and nothing was sent. Once `begin` is accepted and the act is sent, an
answer that does not come is `unknown`, and the act is never issued again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError

from activities.conditions import Standing
from activities.heartbeat import beating
from activities.power import Declined, Host, Power, Unanswered, Unreachable, Unsent
from activities.powers import Powers, permitted, power_of
from gpuward.contracts.acts import ActResult, NodeAct
from gpuward.contracts.errors import Refused
from gpuward.contracts.updates import Begin, BeginAnswer
from gpuward.runtime.failpoints import hit
from gpuward.runtime.metrics import counter

BEGIN_WITHIN = timedelta(seconds=5)
Call = Callable[[Power], Awaitable[dict[str, Any]]]


def _now() -> datetime:
    return datetime.now(UTC)


class Interlock:
    """The only way to an irreversible act. At most `begin_concurrency` asks of guards are under way at once."""

    def __init__(
        self,
        client: Client,
        powers: Powers,
        *,
        clock: Callable[[], datetime] = _now,
        begin_concurrency: int = 8,
    ) -> None:
        self._client = client
        self._powers = powers
        self._clock = clock
        self._begins = asyncio.Semaphore(begin_concurrency)

    async def act(self, name: str, act: NodeAct, call: Call) -> ActResult:
        """Checks everything, begins, and calls once. `name` is the action's row. Never raises but for cancellation."""
        async with beating():
            try:
                power = self._checked_on_paper(act)
                await self._checked_on_the_machine(power, act, name)
                await self._begun(name, act)
                self._in_time(act)
            except Refused as refused:
                counter("gpuward_interlock_refusals_total").labels(refused.reason.partition(":")[0]).inc()
                return ActResult(result="refused", reason=refused.reason)
            hit("begin accepted")
            result = await _called(power, call)
            counter("gpuward_acts_total").labels(name, result.result).inc()
            return result

    def _checked_on_paper(self, act: NodeAct) -> Power:
        power = power_of(self._powers, act)
        if not act.seat.actionable:
            raise Refused(f"seat: {act.node} lacks a rack, a pool or a provable address, so it is only watched")
        permitted(act)
        if act.token is None or act.guard is None or act.not_after is None or not act.boot_id:
            raise Refused("token: the act names no token, guard, deadline or boot")
        self._in_time(act)
        return power

    def _in_time(self, act: NodeAct) -> None:
        assert act.not_after is not None
        if self._clock() >= act.not_after:
            raise Refused(f"deadline: the right to act ended at {act.not_after.isoformat()}")

    async def _checked_on_the_machine(self, power: Power, act: NodeAct, name: str) -> None:
        host = await host_proven(power, act)
        if host.boot_id != act.boot_id:
            raise Refused(
                f"boot: {act.node} runs under {host.boot_id}, the fault is of {act.boot_id}; nothing is touched"
            )
        _condition_stands(host, act, each=name == "gpu.reset")

    async def _begun(self, name: str, act: NodeAct) -> None:
        assert act.token is not None
        assert act.guard is not None
        ask = Begin(
            node=act.node, plan=act.plan, attempt=act.attempt, token=act.token, boot_id=act.boot_id, act=name
        )  # fmt: skip
        guard = self._client.get_workflow_handle(str(act.guard))
        try:
            async with asyncio.timeout(BEGIN_WITHIN.total_seconds()), self._begins:
                answer = await guard.execute_update("begin", ask, result_type=BeginAnswer, rpc_timeout=BEGIN_WITHIN)
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
            raise Refused(f"guard: {act.guard} did not answer within {BEGIN_WITHIN.total_seconds():g} s") from error
        except (RPCError, WorkflowUpdateFailedError) as error:
            raise Refused(f"guard: {act.guard} could not be asked: {getattr(error, 'cause', None) or error}") from error
        if answer.verdict != "begun":
            raise Refused(answer.reason or f"guard: {act.guard} refused")


async def host_proven(power: Power, act: NodeAct) -> Host:
    """The host, with its address proven both ways. Raises Refused where anything differs or cannot be read."""
    address = act.seat.address
    try:
        bmc, host = await asyncio.gather(power.bmc(address.bmc), power.host(act.node))
    except Unreachable as error:
        raise Refused(
            f"identity: it cannot be proven which machine {act.node} is and under which boot: {error}"
        ) from error
    if not address.smbios_uuid or host.smbios_uuid.lower() != address.smbios_uuid.lower():
        raise Refused(
            f"identity: {act.node} says it is {host.smbios_uuid}, the inventory says {address.smbios_uuid or 'nothing'}"
        )
    if bmc.system_uuid.lower() != address.smbios_uuid.lower():
        raise Refused(
            f"identity: the BMC at {address.bmc} sits in {bmc.system_uuid}, not in {act.node} ({address.smbios_uuid})"
        )
    return host


def _condition_stands(host: Host, act: NodeAct, *, each: bool) -> None:
    """`each`: on every GPU named, since each of them is disturbed for it."""
    elsewhere = [uuid for uuid in act.gpus if host.gpu(uuid) is None]
    if elsewhere:
        raise Refused(f"condition: {', '.join(elsewhere)} does not sit on {act.node}")
    if act.ordered_by:
        return
    if not act.fault_classes:
        raise Refused("condition: the act names no condition, so none can be proven")
    standing = Standing(host, act.gpus, act.fault_classes)
    classes = ", ".join(act.fault_classes)
    if not standing.any:
        raise Refused(f"condition: {classes} does not stand, or cannot be measured, on {act.node} now")
    if each and standing.cleared:
        raise Refused(f"condition: {classes} no longer stands on {', '.join(standing.cleared)}")


async def _called(power: Power, call: Call) -> ActResult:
    try:
        details = await call(power)
    except Unsent as error:
        return ActResult(result="refused", reason=f"unsent: {error}")
    except Declined as error:
        return ActResult(result="done", declined=True, reason=f"declined: {error}")
    except Unanswered as error:
        return ActResult(result="unknown", reason=f"no answer: {error}")
    except Exception as error:  # noqa: BLE001 - after the call anything may have happened
        return ActResult(result="unknown", reason=f"the call broke: {error!r}")
    hit("act called")
    answer = ActResult(result="done", details=details)
    hit("answer returned")
    return answer
