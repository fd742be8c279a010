"""Where an entity stands: its seat, and how its node can be addressed and proven."""

from __future__ import annotations

from gpuward.contracts.identity import DomainId, NodeId, PoolId, RackId, Slot
from gpuward.contracts.model import Contract


class Address(Contract):
    """What proves that an address belongs to a node.

    Law: no irreversible act on an unproven identity. The BMC's own system UUID must equal the SMBIOS UUID that the host
    reported under this boot; a cloud instance id must equal the one that IMDS gave under this boot.
    """

    provider: str = ""
    """The power that the node answers to: `simulated`, `redfish`, `aws`, …; empty: none, the node is watch-only."""
    bmc: str = ""
    smbios_uuid: str = ""
    instance_id: str = ""


class Seat(Contract):
    """Node, slot and what lies above them, and the inventory version that said so."""

    node: NodeId
    slot: Slot | None = None
    rack: RackId | None = None
    domain: DomainId | None = None
    pool: PoolId | None = None
    epoch: int = 0
    """Event time in ms of the first inventory record that names this seat; the greater epoch wins."""
    address: Address = Address()

    @property
    def actionable(self) -> bool:
        """A node without rack, pool or a provable address is watch-only."""
        return bool(self.rack and self.pool and self.address.provider and self.address.smbios_uuid)
