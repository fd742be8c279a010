"""The power over a simulated world."""
