"""The benchmark measures what it says: percentiles, counts from histories, and a floor that is a chain with nothing in it."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from gpuward.console.bench import figures, floor, hands
from gpuward.console.bench.chain import Measured, document
from gpuward.console.bench.counted import Counted, count_one
from gpuward.console.bench.fleet import Fleet, Place, fault
from gpuward.console.bench.histories import Tasks, count
from gpuward.console.bench.hops import Hop, Letters
from gpuward.console.bench.sides import Floor
from gpuward.console.bench.turns import through
from gpuward.contracts.messages import MESSAGE
from gpuward.contracts.remedies import Remedy

FLEET = Fleet(racks=2, nodes=2, gpus=2)


def test_a_percentile_is_a_value_that_was_measured():
    values = [float(n) for n in range(100, 0, -1)]
    assert figures.percentile(values, 0.99) == 99
    assert figures.percentile(values, 1) == 100
    assert figures.percentile([7.0], 0.5) == 7
    with pytest.raises(ValueError, match="nothing"):
        figures.percentile([], 0.5)


def test_the_document_has_its_stable_keys_and_the_ratio_of_the_medians():
    counted = Counted(6, Tasks(11, 2), Tasks(12, 5), Tasks(40, 9), {"gpu": 3})
    path = [Hop(i * 1_000_000, 1) for i in range(7)]
    real, empty = Measured([10.0, 20.0, 90.0], [path], [counted]), Measured([10.0, 16.0, 17.0], [path], [counted])
    found = document(real, empty, [0.1, 0.2], 3.0)
    assert found["ratio"] == 20 / 16
    assert (found["p50_ms"], found["floor_p50_ms"], found["p99_ms"], found["floor_p99_ms"]) == (20, 16, 90, 17)
    assert found["tasks"]["in_sequence"] == 6
    assert found["hops"][0] == {"hop": "gpu", "p50_ms": 1.0, "floor_p50_ms": 1.0}


def test_no_place_fails_twice_and_neighbours_in_the_order_share_no_rack():
    places = FLEET.places()
    assert len(set(places)) == len(places) == 8
    assert all(first.rack != second.rack for first, second in itertools.pairwise(places))
    assert len({place.uuid for place in places}) == 8


def test_every_actor_is_born_by_messages_that_it_can_read():
    births = dict(FLEET.births())
    assert len(births) == 2 + 2 + 4 + 8
    kinds = {entity: [MESSAGE.validate_python(message).kind for message in said] for entity, said in births.items()}
    assert set(kinds["pool/p-r00"]) == {"policy"}
    assert len(kinds["rack/r00"]) == FLEET.nodes
    said = MESSAGE.validate_python(fault(Place(0, 1, 1), 3))
    assert said.entity == Place(0, 1, 1).actors[0]
    assert said.verdict.remedy is Remedy.RESET_GPU


def _event(number: int, kind: str, at: int, **attributes: object) -> HistoryEvent:
    event = HistoryEvent(event_id=number, event_type=EventType.Value(f"EVENT_TYPE_{kind}"))
    event.event_time.FromNanoseconds(at)
    for path, value in attributes.items():
        target, leaf = event, path.split("__")
        for name in leaf[:-1]:
            target = getattr(target, name)
        setattr(target, leaf[-1], value)
    return event


def test_a_task_that_only_took_a_ledger_acknowledgement_is_counted_apart():
    append = {"activity_task_scheduled_event_attributes__activity_type__name": "ledger.append"}
    history = [
        _event(1, "WORKFLOW_EXECUTION_SIGNALED", 10),
        _event(2, "WORKFLOW_TASK_COMPLETED", 20),
        _event(3, "ACTIVITY_TASK_SCHEDULED", 20, **append),
        _event(4, "ACTIVITY_TASK_COMPLETED", 30, activity_task_completed_event_attributes__scheduled_event_id=3),
        _event(5, "WORKFLOW_TASK_COMPLETED", 40),
        _event(6, "EXTERNAL_WORKFLOW_EXECUTION_SIGNALED", 50),
        _event(7, "WORKFLOW_TASK_COMPLETED", 60),
    ]
    assert count(history, 0) == Tasks(2, 1)
    assert count(history, 15, until=45) == Tasks(1, 1)


class _Nobody:
    """Nothing is appended on the floor."""

    async def send(self, topic: str, **how: object) -> None:
        raise AssertionError(f"the floor wrote to {topic}")


async def test_an_empty_chain_comes_through_in_six_tasks_in_sequence():
    beside = Path(sys.executable).with_name("temporal")
    async with await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter,
        dev_server_existing_path=str(beside) if beside.exists() else shutil.which("temporal"),
        dev_server_log_level="never",
    ) as environment:
        client = environment.client
        both = hands.Hands(client, _Nobody())
        side = Floor(client, FLEET, Letters({"claim": {"x": "y" * 500}}, {}))
        workflows = [floor.FloorActor, floor.FloorChild]
        async with both.working(), Worker(client, task_queue=floor.QUEUE, workflows=workflows):
            await side.born()
            await through(side, both, [Place(1, 0, 0)], 1.0, 1)  # by then every actor has had its first task
            counted = await asyncio.wait_for(count_one(side, both, Place(1, 0, 1), 2), 60)
    assert counted.in_sequence == 6
    assert counted.until_quiet.other <= 12
    assert counted.by_actor["child"] == 1


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_command_measures_both_sides_and_counts_what_design_allows():
    command = [sys.executable, "-m", "gpuward", "bench", "chain", "--faults", "6", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert {"p50_ms", "p99_ms", "floor_p50_ms", "floor_p99_ms", "ratio"} <= set(found)
    assert found["tasks"]["in_sequence"] == found["floor_tasks"]["in_sequence"] == 6
    assert found["tasks"]["to_first_activity"] <= 14
