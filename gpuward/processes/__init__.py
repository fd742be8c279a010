"""Composition roots, one file per process that runs. They alone know everyone, and hand implementations in."""
