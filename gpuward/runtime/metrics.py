"""Makes the metrics of the table `gpuward.contracts.metrics` on one registry."""

from __future__ import annotations

from functools import cache
from typing import cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gpuward.contracts.metrics import METRICS

REGISTRY = CollectorRegistry()


@cache
def _make(name: str) -> Counter | Gauge | Histogram:
    row = METRICS[name]
    if row.kind == "counter":
        return Counter(name, row.meaning, row.labels, registry=REGISTRY)
    if row.kind == "gauge":
        return Gauge(name, row.meaning, row.labels, registry=REGISTRY)
    return Histogram(name, row.meaning, row.labels, registry=REGISTRY, buckets=row.buckets or Histogram.DEFAULT_BUCKETS)


def counter(name: str) -> Counter:
    """The counter of this name; KeyError when the table has no such row."""
    return cast("Counter", _make(name))


def gauge(name: str) -> Gauge:
    """The gauge of this name."""
    return cast("Gauge", _make(name))


def histogram(name: str) -> Histogram:
    """The histogram of this name."""
    return cast("Histogram", _make(name))
