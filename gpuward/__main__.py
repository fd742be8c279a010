"""`python -m gpuward` is the `gpuward` command."""

from gpuward.processes.main import run

if __name__ == "__main__":
    run()
