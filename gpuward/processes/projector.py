"""The projector: outcomes and inventory folded into the records."""

from __future__ import annotations

from gpuward.console.projector import body

__all__ = ["body"]
