"""The pool guard's finite state machine, as a pure table: `closed → open → half_open`.

`closed` grants what the budget allows; `open` grants nothing (too many asks or failed repairs: the fault may be ours);
`half_open` grants one probe at a time. The rows of the breaker are here; what trips it comes later. A person's stop stands
beside the state: it holds in each of them.
"""

from __future__ import annotations

from enum import StrEnum


class GuardState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class GuardEvent(StrEnum):
    """What moves it: the breaker trips, its cooldown ends, a probe's outcome, a person resets it."""

    TRIPPED = "tripped"
    COOLED_DOWN = "cooled_down"
    PROBE_REPAIRED = "probe_repaired"
    PROBE_FAILED = "probe_failed"
    RESET = "reset"


_S, _E = GuardState, GuardEvent

TABLE: dict[tuple[GuardState, GuardEvent], GuardState] = {
    (_S.CLOSED, _E.TRIPPED): _S.OPEN,
    (_S.OPEN, _E.COOLED_DOWN): _S.HALF_OPEN,
    (_S.OPEN, _E.RESET): _S.CLOSED,
    (_S.HALF_OPEN, _E.PROBE_REPAIRED): _S.CLOSED,
    (_S.HALF_OPEN, _E.PROBE_FAILED): _S.OPEN,
    (_S.HALF_OPEN, _E.TRIPPED): _S.OPEN,
    (_S.HALF_OPEN, _E.RESET): _S.CLOSED,
}


def after(state: GuardState, event: GuardEvent) -> GuardState:
    """Where the event leads; an event that has no row in this state changes nothing."""
    return TABLE.get((state, event), state)


def may_grant(state: GuardState, charged: int) -> bool:
    """Whether this state lets a new slot be charged, with `charged` of them already."""
    return state is _S.CLOSED or (state is _S.HALF_OPEN and charged == 0)
