"""Reaching actors that may not exist yet."""
