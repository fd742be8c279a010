"""The simulated world as a process. Its address goes into `<data>/world.url`."""

from __future__ import annotations

from gpuward.simulator.app import body

__all__ = ["body"]
