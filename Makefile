# Everything runs in .venv, made from the locked requirements. Services are started by the tests and the demo themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test quick check format lint types imports soak lock bench clean

demo: $(STAMP)            ## a small fleet, a fault, and its repair, in this terminal
	$(BIN)/gpuward up --demo

test: check               ## everything that must be green; what is longer is in `make soak`
	$(BIN)/pytest tests/unit tests/laws tests/golden -q
	$(BIN)/pytest tests/component tests/perf -m "not soak" -q -p no:randomly
	$(BIN)/pytest tests/system -m "not soak" -q -p no:randomly
	$(BIN)/pytest tests/chaos -m "not soak" -q -p no:randomly

# The last three start servers of their own, one stack at a time, so they are not shuffled into one another.

quick: $(STAMP)           ## unit, law and golden tests: on every save
	$(BIN)/pytest tests/unit tests/laws tests/golden -q

check: format lint types imports

format: $(STAMP)
	$(BIN)/ruff format --check .
lint: $(STAMP)
	$(BIN)/ruff check .
types: $(STAMP)
	$(BIN)/mypy
imports: $(STAMP)
	$(BIN)/lint-imports

soak: $(STAMP)            ## what is longer: 25 and 200 kills; its table is committed in docs/benchmarks.md
	$(BIN)/pytest tests -m soak -q --timeout 7200

lock:                     ## renew requirements.lock: versions and hashes, no addresses
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header -q -o requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --require-hashes -r requirements.lock
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	touch $(STAMP)
