"""The stream processors: `detect` and `roll_up` on Faust."""

from __future__ import annotations

from streams.agents.worker import body

__all__ = ["body"]
