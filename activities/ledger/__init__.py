"""The ledger is appended to, and what it says of an actor is loaded."""
