"""Where the simulated world of a stack answers."""

from __future__ import annotations

from gpuward.runtime.settings import Settings


def address(settings: Settings) -> str | None:
    """Its base URL: from the settings or `run.json`, else what the world itself wrote; None where there is none."""
    if settings.world:
        return settings.world
    path = settings.data / "world.url"
    return path.read_text().strip() or None if path.is_file() else None
