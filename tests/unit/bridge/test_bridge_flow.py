"""A partition is read only while nobody has a reason against it."""

from __future__ import annotations

from gpuward.runtime.kafka import TopicPartition
from streams.bridge.flow import Flow

P, Q = TopicPartition("t", 0), TopicPartition("t", 1)


class Consumer:
    def __init__(self) -> None:
        self.calls: list[tuple[str, TopicPartition]] = []

    def pause(self, where: TopicPartition) -> None:
        self.calls.append(("pause", where))

    def resume(self, where: TopicPartition) -> None:
        self.calls.append(("resume", where))


def test_it_goes_on_when_the_last_reason_is_gone() -> None:
    consumer = Consumer()
    flow = Flow(consumer, [P, Q])
    flow.hold(P, "full")
    flow.hold(P, "full")
    flow.hold(P, "away")
    flow.release(P, "full")
    flow.release(Q, "full")
    assert (consumer.calls, flow.resting) == ([("pause", P)], 1)
    flow.release(P, "away")
    assert (consumer.calls, flow.resting) == ([("pause", P), ("resume", P)], 0)


def test_nothing_is_paused_that_was_taken_away() -> None:
    consumer = Consumer()
    flow = Flow(consumer, [P])
    flow.end()
    flow.hold(P, "full")
    flow.release(P, "full")
    assert consumer.calls == []
