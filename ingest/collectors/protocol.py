"""What a collector and a node must offer, so that the agent can serve them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, Protocol

from gpuward.contracts.identity import NodeId
from gpuward.contracts.inventory import NodeInventory
from gpuward.contracts.observations import Observation


class KernelLine(NamedTuple):
    """A raw line for the normaliser, from a source that does not read it itself.

    `sequence` is unique within `boot_id` and rises with the lines; `time` is aware, and holds unless the text has its own.
    """

    sequence: int
    boot_id: str
    text: str
    time: datetime


Seen = Observation | KernelLine


class Collector(Protocol):
    """One source on one node. Each has its own time limit: one that hangs never stops the others."""

    name: str

    def supported(self) -> bool:
        """Whether this machine has the source at all."""
        ...

    def poll(self) -> Iterable[Seen]:
        """What was seen since the last call; never waits for something to happen. Called from a thread of its own, never
        twice at once. What it raises becomes an observation, and it is polled again at the next tick.
        """
        ...

    def close(self) -> None:
        """Lets go of files and devices."""
        ...


class NodeSource(Protocol):
    """One node that this agent speaks for. An agent on a node serves one; beside the simulator it serves them all.

    All three calls come from a thread, may block up to the agent's limit, and raise `Transient` where the node cannot be
    reached at all: then nothing is published for it in that tick, and its silence is the streams' to find.
    """

    @property
    def node(self) -> NodeId: ...

    def boot_id(self) -> str:
        """The boot under which the node runs now."""
        ...

    def inventory(self) -> NodeInventory:
        """Who stands here now. Published at start and whenever it differs in more than its time."""
        ...

    def poll(self) -> Iterable[Seen]:
        """Everything new since the last call, in order. Samples may all be full: the agent makes the deltas."""
        ...
