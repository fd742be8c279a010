"""The world's file: written whole and renamed, so that a killed world goes on from its last state."""

from __future__ import annotations

import os
from pathlib import Path

from gpuward.contracts.errors import Permanent
from gpuward.simulator import world
from gpuward.simulator.durations import Durations
from gpuward.simulator.layout import Layout, build
from gpuward.simulator.state import WorldState


class Store:
    """Keeps one world in one file. `path` None: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def open(self, layout: Layout, durations: Durations, now: float) -> WorldState:
        """The world in the file, with these durations; a new one where there is none.

        Raises Permanent with a sentence when the file cannot be read.
        """
        if self._path is None or not self._path.exists():
            state = build(layout, durations)
            world.begin(state, now)
            self.save(state)
            return state
        try:
            state = WorldState.model_validate_json(self._path.read_bytes())
        except ValueError as error:
            raise Permanent(
                f"The world in {self._path} cannot be read: move the file away to begin a new one. {error}"
            ) from error
        state.durations = durations
        return state

    def save(self, state: WorldState) -> None:
        """Atomic: a reader finds the old state or the new one."""
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".new")
        with beside.open("wb") as file:
            file.write(state.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
