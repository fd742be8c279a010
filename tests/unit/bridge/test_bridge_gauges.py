"""Law: a lagging bridge is not healthy."""

from __future__ import annotations

from gpuward.runtime.kafka import TopicPartition
from streams.bridge.gauges import Gauges
from streams.bridge.offsets import Progress

P = TopicPartition("fleet.faults.v1", 0)


def test_an_old_record_makes_it_unhealthy_and_idleness_does_not() -> None:
    now = 1000.0
    gauges, progress = Gauges(lambda: now), Progress()
    assert gauges.check() is None
    gauges.watch({P: progress})
    progress.begin(0, time_s=990.0)
    assert (gauges.oldest(), gauges.check()) == (10.0, None)
    now = 1051.0
    assert "61 s old" in (gauges.check() or "")
    progress.acknowledge(0)
    now = 9999.0
    assert (gauges.oldest(), gauges.check()) == (0.0, None)


def test_partitions_that_left_are_not_spoken_of() -> None:
    gauges, progress = Gauges(lambda: 1000.0), Progress()
    gauges.watch({P: progress})
    progress.begin(4, time_s=0.0)
    gauges.lag(lambda _: 10)
    gauges.watch({})
    assert gauges.check() is None
    gauges.watch({P: Progress()})
    gauges.lag(lambda _: None)
