"""Benchmarks: each measures gpuward beside a floor in the same run. `docs/benchmarks.md` says what and why."""
