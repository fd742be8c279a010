"""CloudEvents 1.0 in binary mode: an `Envelope` is the headers of a Kafka record, the value is JSON.

Source: CloudEvents Kafka protocol binding 1.0; W3C Trace Context for `traceparent`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from gpuward.contracts.model import Contract

SPEC_VERSION = "1.0"
REROUTED = "gpuward-rerouted"
"""Marker header of a record that was re-published to the partition it belongs on. Seen once, never re-routed again."""
REDRIVEN = "gpuward-redriven"
"""Marker header of a record that was re-driven from the dead letters or the parking topic."""

Headers = Sequence[tuple[str, bytes]]


class Envelope(Contract):
    """Who says what, and when. `time` is the event time, aware."""

    id: str
    type: str
    source: str
    time: datetime
    traceparent: str | None = None

    def to_headers(self) -> list[tuple[str, bytes]]:
        """Headers for a Kafka record, in a fixed order."""
        headers = [
            ("ce_specversion", SPEC_VERSION.encode()),
            ("ce_id", self.id.encode()),
            ("ce_type", self.type.encode()),
            ("ce_source", self.source.encode()),
            ("ce_time", self.time.isoformat().encode()),
            ("content-type", b"application/json"),
        ]
        if self.traceparent is not None:
            headers.append(("traceparent", self.traceparent.encode()))
        return headers

    @classmethod
    def from_headers(cls, headers: Iterable[tuple[str, bytes]]) -> Envelope:
        """Reads the envelope; the last of a repeated header wins. Raises ValueError when one that is required is missing."""
        found = {name.lower(): value.decode("utf-8", "replace") for name, value in headers}
        missing = [name for name in ("ce_id", "ce_type", "ce_source", "ce_time") if name not in found]
        if missing:
            raise ValueError(f"the record is not a CloudEvent: no {', '.join(missing)}")
        return cls(
            id=found["ce_id"],
            type=found["ce_type"],
            source=found["ce_source"],
            time=datetime.fromisoformat(found["ce_time"]),
            traceparent=found.get("traceparent"),
        )
