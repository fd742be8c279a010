"""Full samples in, deltas out: a column that did not change is left out between full samples. Pure."""

from __future__ import annotations

from datetime import timedelta

from gpuward.contracts.observations import NodeSample

FULL_EVERY = timedelta(seconds=60)


def delta(previous: NodeSample, current: NodeSample) -> NodeSample | None:
    """`current` less what `previous` (full) said already; None where only a full sample can say it.

    That is so when the boot or the GPUs changed, or a column or value is gone.
    """
    same_gpus = (previous.boot_id, previous.slots, previous.gpus) == (current.boot_id, current.slots, current.gpus)
    if not same_gpus or previous.columns.keys() - current.columns.keys() or previous.node.keys() - current.node.keys():
        return None
    columns = {name: column for name, column in current.columns.items() if previous.columns.get(name) != column}
    node = {name: value for name, value in current.node.items() if _differs(previous.node, name, value)}
    return current.model_copy(update={"full": False, "slots": (), "gpus": (), "columns": columns, "node": node})


def apply(previous: NodeSample, change: NodeSample) -> NodeSample:
    """The full sample that `change` stands for, given the last full one. Law: `apply(p, delta(p, c)) == c`."""
    if change.full:
        return change
    return change.model_copy(
        update={
            "full": True,
            "slots": previous.slots,
            "gpus": previous.gpus,
            "columns": previous.columns | change.columns,
            "node": previous.node | change.node,
        }
    )


class DeltaEncoder:
    """One node's samples: full at first, at least every 60 s of event time, and whenever asked; deltas between."""

    def __init__(self, full_every: timedelta = FULL_EVERY) -> None:
        self._full_every = full_every
        self._last: NodeSample | None = None
        self._last_full: NodeSample | None = None

    def encode(self, sample: NodeSample, *, full: bool = False) -> NodeSample:
        """What to publish for this sample. One that is a delta already passes as it is, and the next is full."""
        last, last_full = self._last, self._last_full
        if not sample.full:
            self._last = self._last_full = None
            return sample
        self._last = sample
        due = full or last is None or last_full is None or sample.time - last_full.time >= self._full_every
        change = None if due or last is None else delta(last, sample)
        if change is None:
            self._last_full = sample
            return sample
        return change


def _differs(previous: dict[str, int | float | str | bool | None], name: str, value: object) -> bool:
    return name not in previous or previous[name] != value or type(previous[name]) is not type(value)
