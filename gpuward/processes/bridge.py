"""The bridge: Kafka records to Temporal actors."""

from __future__ import annotations

from streams.bridge.worker import body

__all__ = ["body"]
