"""gpuward keeps a fleet of GPUs running: telemetry on Kafka, one Temporal actor per rack, node and GPU, guarded repairs."""

__version__ = "0.1.0"
