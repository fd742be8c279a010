"""Killed between any two effects, each process ends up where it would have: one repair, and no act twice in one attempt."""

import pytest

LONGER = pytest.mark.soak
POINTS = [
    ("streams", "fault acknowledged"),
    pytest.param("streams", "view written", marks=LONGER),
    ("bridge", "signal acknowledged"),
    pytest.param("bridge", "offset committed", marks=LONGER),
    ("decide", "decision taken"),
    pytest.param("decide", "task completed", marks=LONGER),
    pytest.param("decide", "parent signalled", marks=LONGER),
    pytest.param("decide", "child completed", marks=LONGER),
    # The first pass of an act's point is node.evict, the second node.reboot.
    pytest.param("act", "begin accepted", marks=LONGER),
    pytest.param("act", "begin accepted:2", marks=LONGER),
    pytest.param("act", "act called", marks=LONGER),
    ("act", "act called:2"),
    pytest.param("act", "answer returned", marks=LONGER),
    pytest.param("act", "answer returned:2", marks=LONGER),
]
"""One per process in `make test`, all of them in `make soak`: a lost act worker is noticed only after its heartbeat timeout."""


@pytest.mark.parametrize(("process", "point"), POINTS, ids=lambda value: value.replace(" ", "-"))
async def test_killed_there_the_end_is_the_same(fleet, patient, process, point):
    once = fleet.data / f"died-{point.replace(' ', '-')}"
    once.touch()  # while it exists the process lives: it starts, catches up and is ready before it is to die
    await fleet.stop(process)
    fleet.start(process, GPUWARD_FAILPOINT=point, GPUWARD_FAILPOINT_ONCE=str(once))
    await fleet.ready(process)
    restarts = fleet.restarts.get(process, 0)

    once.unlink()
    await patient.falls_off_the_bus()
    await patient.heals(within_s=200)

    assert once.exists(), f"{process} never came to {point!r}"
    assert fleet.restarts[process] == restarts + 1
    # An eviction of unknown outcome ends its attempt before the reboot; the next attempt is of the same rung.
    assert (await patient.count("reboot"), await patient.count("power_cycle")) == (1, 0)
    await patient.never_twice()
