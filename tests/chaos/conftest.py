"""One running stack for the scenarios that kill, cut and flood. They go in series; each takes nodes or a rack of its own."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
import pytest_asyncio

from tests.chaos.patient import Patient
from tests.system.fleet import BUDGET, Fleet

RACKS = int(os.environ.get("GPUWARD_CHAOS_RACKS", "15"))
NODES = 2
OF_ONE = ("r01", "r02")
"""Racks whose pool lets one node at a time be disturbed."""
ONE = {**BUDGET, "concurrent": 1, "per_rack": 1}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def fleet():
    data = Path(tempfile.mkdtemp(prefix="gpuward-chaos-"))
    try:
        pools = {rack: {"budget": ONE} for rack in OF_ONE}
        async with Fleet(data, racks=RACKS, nodes=NODES, gpus=2, pools=pools) as running:
            yield running
    finally:
        if "GPUWARD_KEEP" not in os.environ:
            shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="session")
def free(fleet):
    """Nodes that nobody has taken, by rack."""
    return {rack: [f"{rack}-n{number:02d}" for number in range(1, NODES + 1)] for rack in fleet.racks}


@pytest_asyncio.fixture(loop_scope="session")
async def patient(fleet, free):
    """A node that no other scenario has, with everything that watches over it."""
    rack = next(rack for rack in fleet.racks if rack not in OF_ONE and free[rack])
    return await Patient.of(fleet, free[rack].pop(0))


@pytest_asyncio.fixture(loop_scope="session")
async def pair(fleet, free):
    """Two nodes of a rack whose pool has a budget of one."""
    rack = next(rack for rack in OF_ONE if len(free[rack]) == NODES)
    nodes, free[rack] = free[rack], []
    return [await Patient.of(fleet, node) for node in nodes]


def pytest_collection_modifyitems(items):
    """Disruptive tests run in one event loop, where the stack's children live."""
    for item in items:
        if "tests/chaos" in str(item.path):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.timeout(300))
