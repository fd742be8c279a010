"""Actors, guards and remediations: pure brains in `decide/`, thin Temporal shells around them."""
