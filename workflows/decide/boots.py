"""Which boot of a node is the current one, which were before it, and which is not known yet.

Law: a fault from an earlier boot never reboots this one.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from gpuward.contracts.faults import Fault

_KEPT = 8


class Boots(BaseModel):
    """Boot ids have no order of their own; the order in which the inventory named them is theirs."""

    current: str = ""
    since: datetime | None = None
    """Event time at which the current boot was first heard of."""
    earlier: list[str] = Field(default_factory=list)

    def learn(self, boot_id: str, time: datetime) -> bool:
        """Takes in that `boot_id` was seen at `time`. True when it is newer than the one known."""
        if not boot_id or boot_id == self.current or boot_id in self.earlier:
            return False
        if self.current and self.since is not None and time < self.since:
            self.earlier = [*self.earlier, boot_id][-_KEPT:]
            return False
        if self.current:
            self.earlier = [*self.earlier, self.current][-_KEPT:]
        self.current, self.since = boot_id, time
        return True

    def learn_of(self, fault: Fault) -> None:
        """What a fault says of boots: its own, and the one that the node runs under now, as the streams knew it."""
        if fault.current_boot_id and fault.boot_id and fault.current_boot_id != fault.boot_id:
            if self.current == fault.boot_id:
                self.current, self.since = "", None
            if fault.boot_id not in self.earlier:
                self.earlier = [*self.earlier, fault.boot_id][-_KEPT:]
            self.learn(fault.current_boot_id, fault.last_seen)
        else:
            self.learn(fault.boot_id, fault.first_seen)

    def is_earlier(self, boot_id: str) -> bool:
        """Whether it is known to be an earlier boot. One that was never heard of may be newer: the interlock proves it."""
        return boot_id in self.earlier and boot_id != self.current

    def is_current(self, boot_id: str) -> bool:
        """Whether something under `boot_id` may be acted on now. Where either is not known, the interlock decides."""
        return not boot_id or (not self.current and boot_id not in self.earlier) or boot_id == self.current
