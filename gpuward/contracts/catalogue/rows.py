"""Reads one CSV file that lies beside this module."""

from __future__ import annotations

import csv
from importlib.resources import files


def rows_of(name: str) -> list[dict[str, str]]:
    """Every row of the packaged file `name`, as header -> cell. Raises FileNotFoundError where it was not packaged."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
