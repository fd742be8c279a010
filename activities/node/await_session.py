"""`node.await_session`: looks for an act's effect, a new boot or a new driver session, until a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from temporalio import activity

from activities.heartbeat import beating
from activities.power import Host, Power, Unreachable
from activities.powers import Powers, power_of
from gpuward.contracts.acts import AwaitSession, SessionSeen
from gpuward.contracts.errors import Refused


class Sessions:
    """Looks at least once, also when the deadline has passed: a late look is still evidence."""

    def __init__(
        self, powers: Powers, *, poll_s: float = 1.0, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._powers = powers
        self._poll_s = poll_s
        self._clock = clock

    @activity.defn(name="node.await_session")
    async def await_session(self, ask: AwaitSession) -> SessionSeen:
        """`seen` with the boot id and sessions found, or the last thing that was seen instead."""
        try:
            power = power_of(self._powers, ask.act)
        except Refused as refused:
            return SessionSeen(seen=False, reason=refused.reason)
        async with beating():
            while True:
                seen = await _look(power, ask)
                if seen.seen or self._clock() >= ask.deadline:
                    return seen
                await asyncio.sleep(self._poll_s)


async def _look(power: Power, ask: AwaitSession) -> SessionSeen:
    try:
        host = await power.host(ask.act.node)
    except Unreachable as error:
        return SessionSeen(seen=False, reason=f"{ask.act.node} does not answer: {error}")
    known = {"boot_id": host.boot_id, "sessions": host.sessions}
    missing = _missing(host, ask)
    return SessionSeen(seen=not missing, reason=missing, **known)


def _missing(host: Host, ask: AwaitSession) -> str:
    """What is not there yet; empty when all of it is. A GPU off the bus never gets a session, so nothing waits for it
    after a boot: that is for the validation to find.
    """
    address = ask.act.seat.address
    if host.smbios_uuid.lower() != address.smbios_uuid.lower():
        return f"{host.node} says it is {host.smbios_uuid}, not {address.smbios_uuid}"
    if ask.want in ("boot", "power"):
        return "" if host.boot_id != ask.before_boot_id else f"{host.node} still runs under the boot of before"
    wanted = ask.act.gpus or tuple(ask.before_sessions)
    if not wanted:
        return "no GPU is named whose session could be looked for"
    old = [uuid for uuid in wanted if host.sessions.get(uuid, "") in ("", ask.before_sessions.get(uuid, ""))]
    return f"no new driver session yet on {', '.join(old)}" if old else ""
