"""What a power must offer: one way to reach machines. One conformance suite, run against a real peer, holds for all.

A power says what it was told and does what it is asked, once. Whether it may be asked is the interlock's matter.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

from pydantic import Field

from gpuward.contracts.errors import GpuwardError, Transient
from gpuward.contracts.identity import NodeId
from gpuward.contracts.model import Contract

OWNER = "gpuward"
"""The name under which we cordon and hold leases; everybody else's are never touched."""


class Unreachable(Transient):
    """The machine or its controller did not answer, and nothing was changed: the question can be asked again."""


class Unsent(GpuwardError):  # noqa: N818 - what happened, as in `contracts.errors`
    """The act never left: no connection was made. Law: nothing happened."""


class Unanswered(GpuwardError):  # noqa: N818
    """The act was sent and no answer came. It may have happened."""


class Declined(GpuwardError):  # noqa: N818
    """The machine answered that it did not do it: GPU lost, in use, not known."""


class Gpu(Contract):
    """One GPU as its host sees it now. None: it could not be measured."""

    uuid: str
    slot: str
    serial: str = ""
    state: str
    """`ok`; anything else does not answer (`lost`, `resetting`)."""
    session: str | None = None
    recovery_action: int | None = None
    remap_pending: bool | None = None
    remap_failure: bool | None = None
    ecc_dbe_volatile: int | None = None
    xids: tuple[int, ...] | None = None
    """Codes in the kernel log since the driver bound it under this boot."""


class Host(Contract):
    """What a host says of itself under the boot it runs now."""

    node: NodeId
    boot_id: str
    smbios_uuid: str
    expected_gpus: int
    workload: bool
    cordons: dict[str, str] = Field(default_factory=dict)
    """Owner → reason."""
    lease: str = ""
    gpus: tuple[Gpu, ...] = ()

    def gpu(self, uuid: str) -> Gpu | None:
        return next((gpu for gpu in self.gpus if gpu.uuid == uuid), None)

    @property
    def sessions(self) -> dict[str, str]:
        """GPU UUID → driver session, of those that have one."""
        return {gpu.uuid: gpu.session for gpu in self.gpus if gpu.session}


class Bmc(Contract):
    """What the BMC at an address says of the machine it sits in."""

    system_uuid: str
    power: str = ""


class Cordons(Contract):
    """After a cordon or uncordon: who else keeps work off, owner → reason."""

    others: dict[str, str] = Field(default_factory=dict)


class Diagnosis(Contract):
    """A diagnostic; `passed` None while it runs."""

    level: int
    ready: datetime | None = None
    passed: bool | None = None
    failed: tuple[str, ...] = ()


class Power(Protocol):
    """Reading raises `Unreachable`. Acting raises `Unsent`, `Unanswered` or `Declined`; returning means accepted."""

    name: str

    async def host(self, node: NodeId) -> Host:
        """What the host says now, under this boot."""
        ...

    async def bmc(self, address: str) -> Bmc:
        """What answers at this BMC address."""
        ...

    async def kernel_log(self, node: NodeId, last: int) -> list[str]:
        """The last lines of the kernel log under this boot."""
        ...

    async def reset_gpus(self, node: NodeId, gpus: tuple[str, ...]) -> dict[str, Any]: ...

    async def reboot(self, node: NodeId) -> dict[str, Any]: ...

    async def power_cycle(self, address: str) -> dict[str, Any]: ...

    async def evict(self, node: NodeId, mode: str, deadline_s: float) -> dict[str, Any]:
        """Asks the work to go; it is gone when `host().workload` is false."""
        ...

    async def cordon(self, node: NodeId, owner: str, reason: str) -> Cordons:
        """Keeps work off under this owner's name and takes its lease. Again: the same. Raises Declined where another
        holds the lease, Unreachable when it may be tried again.
        """
        ...

    async def uncordon(self, node: NodeId, owner: str) -> Cordons:
        """Takes away this owner's cordon and lease, nobody else's. Again: nothing. Raises Unreachable."""
        ...

    async def diagnose(self, node: NodeId, level: int) -> None:
        """Starts a diagnostic. Raises Unreachable or Declined."""
        ...

    async def diagnosis(self, node: NodeId) -> Diagnosis | None:
        """The last diagnostic under this boot, or None. Raises Unreachable."""
        ...
