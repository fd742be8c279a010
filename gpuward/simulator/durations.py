"""How long things take in the world, in its own seconds, and how much faster than life it runs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Durations(BaseModel):
    """World seconds; a wait of `x` takes `x / scale` seconds of the wall.

    Source: domain gpu-health-rules §10 (reset under 2 min, reboot up to 20 min for an 8-GPU node), §8 (levels of the
    DCGM diagnostic), §11 (a cold power cycle keeps the power off for about 30 s). The rest are defaults of this project.
    """

    model_config = ConfigDict(frozen=True)

    scale: float = Field(default=60, gt=0)
    gpu_reset_s: float = 90
    shutdown_s: float = 60
    boot_s: float = 1140
    """With `shutdown_s`: a reboot of 20 minutes."""
    power_off_s: float = 30
    evict_grace_s: float = 30
    """What an immediate eviction gives the work to die."""
    job_left_s: float = 1800
    """How long the work on a node would still run by itself."""
    next_job_s: float = 120
    """How long after the last cordon went new work comes."""
    diagnostic_s: tuple[float, ...] = (0, 60, 120, 900, 5400)
    """By level, 0 to 4."""

    def wall(self, world_s: float) -> float:
        """Seconds of the wall for so many seconds of the world."""
        return world_s / self.scale

    def diagnostic(self, level: int) -> float:
        """World seconds that a diagnostic of this level takes; levels above the highest take as long as that."""
        return self.diagnostic_s[min(max(level, 0), len(self.diagnostic_s) - 1)]
