"""Remediations: one attempt of one rung, as a graph of steps with their undos, run by an abandoned child workflow."""
