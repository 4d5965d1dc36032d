# Every target sets up .venv by itself; a machine with python3, pip and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 2
# For make bench. Where this brings a CUDA build of several gigabytes, take the CPU build instead:
# make bench TORCH='torch --index-url https://download.pytorch.org/whl/cpu'
TORCH ?= torch==2.13.0
# What an installation is built from.
BUILD := pyproject.toml CMakeLists.txt $(wildcard src/tabpe/_native/*.?pp)

.PHONY: help demo test lint format bench clean

help:
	@echo "make demo    synthesise the embedded example, into tabpe-demo/"
	@echo "make test    run all tests, with coverage"
	@echo "make lint    formatting, style, types, import rules"
	@echo "make format  format the code"
	@echo "make bench   the paper's core figures, ablations and the speed of votes, into bench/results/"
	@echo "make clean   remove what these made"

demo: $(VENV)/.core
	$(BIN)/tabpe demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench
	$(BIN)/python bench/reproduce.py
	$(BIN)/python bench/ablations.py
	$(BIN)/python -m bench.voting

clean:
	rm -rf $(VENV) build dist tabpe-demo .coverage* .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tabpe needs Python 3.11 or newer: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(VENV) || \
		{ $(PYTHON) -m pip install --quiet virtualenv && $(PYTHON) -m virtualenv $(VENV); }

$(VENV)/.core: $(VENV)/bin/python $(BUILD)
	$(PIP) install -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(BUILD)
	$(PIP) install -e '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install $(TORCH) || echo "no torch: the benchmark of the votes leaves it out"
	@touch $@
