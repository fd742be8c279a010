"""The embedded stack: a real Apache Kafka and a real Temporal server as child processes of whoever asks.

Start at `stack.py`. `run_file.py` is how other commands find a stack that runs.
"""
