"""One running stack for the scenarios that disturb only their own rack; each takes a rack and pool of its own."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
import pytest_asyncio

from tests.system.fleet import BUDGET, Fleet

RACKS = int(os.environ.get("GPUWARD_TEST_RACKS", "24"))
OF_ONE = ("r01", "r02")
ONE = {**BUDGET, "concurrent": 1, "per_rack": 1}
_taken: list[str] = []


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def fleet():
    data = Path(tempfile.mkdtemp(prefix="gpuward-system-"))
    try:
        async with Fleet(data, racks=RACKS, nodes=3, gpus=2, pools=dict.fromkeys(OF_ONE, {"budget": ONE})) as running:
            yield running
    finally:
        if "GPUWARD_KEEP" not in os.environ:
            shutil.rmtree(data, ignore_errors=True)


def _take(names):
    free = next(name for name in names if name not in _taken)
    _taken.append(free)
    return free


@pytest.fixture
def rack(fleet):
    """A rack that no other scenario has."""
    return _take(name for name in fleet.racks if name not in OF_ONE)


@pytest.fixture
def rack_of_one(fleet):
    """The same, with a budget of one node at a time."""
    return _take(OF_ONE)


def pytest_collection_modifyitems(items):
    """System tests run in one event loop, where the stack's children live."""
    for item in items:
        if "tests/system" in str(item.path):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.timeout(240))
