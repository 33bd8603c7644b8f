# Each target sets up what it needs. PYTHON is any Python from 3.11 on.
PYTHON ?= python3
VENV ?= .venv
# Most tests wait for an adapter most of the time: more of them at once than there are processors.
JOBS ?= 4
BIN := $(VENV)/bin
EXAMPLE := adapters/examples/fastapi-idempotency

.PHONY: demo test soak check bench generate clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(EXAMPLE)/.venv/.installed: $(EXAMPLE)/requirements.txt
	$(PYTHON) -m venv $(EXAMPLE)/.venv
	$(EXAMPLE)/.venv/bin/python -m pip install --quiet -r $<
	touch $@

# A library that differs from the contract makes `run` exit with 1: that is the demonstration.
demo: $(VENV)/.installed $(EXAMPLE)/.venv/.installed
	$(BIN)/retryproof run $(EXAMPLE)/adapter.py --python $(EXAMPLE)/.venv/bin/python || test $$? -eq 1

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(TESTS)

soak: $(VENV)/.installed
	$(BIN)/python -m pytest -m soak

check: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/check_wheel.py

bench: $(VENV)/.installed
	$(BIN)/python -m bench

generate: $(VENV)/.installed
	$(BIN)/python tools/generate.py

clean:
	git clean -dfX --exclude='!.venv'
