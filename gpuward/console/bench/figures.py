"""Percentiles, and the machine that they were measured on."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """By nearest rank: a value that was measured. `share` from 0 to 1. Raises ValueError where nothing was measured."""
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def load() -> float:
    """Processes that wanted to run, on average over the last minute."""
    return round(os.getloadavg()[0], 2)
