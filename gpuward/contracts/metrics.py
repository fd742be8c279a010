"""TABLE of metrics: name, kind, labels, meaning. Every metric is declared here once; `gpuward.runtime.metrics` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One row. Units stand in the name, as Prometheus wants it."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("gpuward_publisher_batches_total", "counter", "batches acknowledged by Kafka"),
        Metric("gpuward_publisher_dropped_total", "counter", "observations dropped while brokers were away", ("kind",)),
        Metric("gpuward_publisher_buffered_bytes", "gauge", "bytes kept in memory until Kafka acknowledges"),
        Metric("gpuward_collector_hung_total", "counter", "polls that did not answer in time", ("collector",)),
        Metric("gpuward_streams_records_total", "counter", "records read", ("topic",)),
        Metric("gpuward_streams_faults_total", "counter", "faults acknowledged by Kafka", ("phase",)),
        Metric(
            "gpuward_streams_rerouted_total",
            "counter",
            "records found on the wrong partition and re-published",
            ("topic",),
        ),
        Metric("gpuward_streams_gaps_total", "counter", "offset gaps that ended at the log start", ("topic",)),
        Metric("gpuward_dead_letters_total", "counter", "records that could not be read", ("topic", "reason")),
        Metric("gpuward_bridge_signals_total", "counter", "signals acknowledged by Temporal", ("kind",)),
        Metric("gpuward_bridge_records_total", "counter", "records acknowledged", ("topic",)),
        Metric("gpuward_bridge_parked_total", "counter", "records parked because their entity could not take them in"),
        Metric("gpuward_bridge_lag_records", "gauge", "records not yet acknowledged", ("topic", "partition")),
        Metric("gpuward_bridge_oldest_seconds", "gauge", "age of the oldest record not yet acknowledged"),
        Metric(
            "gpuward_bridge_latency_seconds", "histogram", "record timestamp to acknowledged signal", buckets=_LATENCY
        ),
        Metric("gpuward_acts_total", "counter", "acts by action and result", ("action", "result")),
        Metric("gpuward_interlock_refusals_total", "counter", "acts refused before the call", ("reason",)),
        Metric("gpuward_projector_lag_records", "gauge", "records not yet folded", ("topic",)),
    )
}
