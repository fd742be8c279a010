from __future__ import annotations

import pytest

from tests.component.simulator.running import running_world


@pytest.fixture
async def door(tmp_path):
    """A world of two racks over real HTTP, 600 times faster than life."""
    async with running_world(tmp_path / "world.json", scale=600) as running:
        yield running
