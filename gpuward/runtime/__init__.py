"""How a process lives: settings, logs, metrics, health, shutdown, and its Kafka and Temporal clients."""
