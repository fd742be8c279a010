"""The brains: `(State, [Event], now) -> (State, [Decision])`. Pure: no clock, no I/O, no temporalio."""
