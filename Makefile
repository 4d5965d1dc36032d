# Every target sets up what it needs by itself; a machine with python3, pip and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(@D)/bin/python -m pip --disable-pip-version-check --quiet install
JOBS ?= 2
# Environments of their own: with sanitizers in the compiled part, without a compiled part, and with
# packages that results are compared with, which hold pandas below 3.
SANITIZED := build/sanitized
PURE := build/pure
PEERS := build/peers
# For make bench and CI: name a build without CUDA, which would be several gigabytes.
TORCH ?= torch==2.13.0
# What an installation is built from.
BUILD := pyproject.toml CMakeLists.txt $(wildcard src/tabpe/backends/native/*.?pp)

.PHONY: help demo pictures test coverage test-pure test-peers sanitize lint format bench lab wheel clean

help:
	@echo "make demo       synthesise the embedded example and report on it, into tabpe-demo/"
	@echo "make test       run all tests"
	@echo "make coverage   run all tests and tell which lines they reach"
	@echo "make test-pure  run all tests without the compiled part"
	@echo "make test-peers compare scores with the package SDMetrics, and test with pandas 2"
	@echo "make sanitize   run the tests of the compiled part under AddressSanitizer and UBSan"
	@echo "make lint       formatting, style, types, import rules"
	@echo "make format     format the code"
	@echo "make bench      the paper's core figures, votes, the audit and the metrics, into lab/benchmarks/results/"
	@echo "make lab        every experiment of the paper in its quick variant, into lab/results/"
	@echo "make pictures   take the pictures of the README anew, from the demo"
	@echo "make wheel      build a wheel and a source distribution, into dist/"
	@echo "make clean      remove what these made"

demo: $(VENV)/.core
	$(BIN)/tabpe demo

pictures: $(VENV)/.dev $(VENV)/.browser
	rm -rf tabpe-demo
	$(BIN)/tabpe demo
	$(BIN)/python docs/screenshots.py

test: $(VENV)/.dev $(VENV)/.browser $(VENV)/.postgres $(VENV)/.java
	TABPE_EXPECT_NATIVE=1 $(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder $(COVERAGE)

coverage: COVERAGE := --cov --cov-report=term
coverage: test

test-pure: $(PURE)/.dev
	$(PURE)/bin/python -c 'from tabpe.backends import native; assert native.search is None'
	$(PURE)/bin/python -m pytest -n $(JOBS) --no-loadscope-reorder

test-peers: $(PEERS)/.dev
	TABPE_EXPECT_PEERS=1 $(PEERS)/bin/python -m pytest -n $(JOBS) --no-loadscope-reorder tests/unit/evaluation/metrics tests/unit/evaluation/report \
		tests/unit/io tests/unit/synthesizers/test_frames_in_and_out.py \
		--ignore tests/unit/io/sql --ignore tests/unit/io/test_stores.py \
		--ignore tests/unit/evaluation/report/test_bad_tables.py

# The sanitizers come before all else that is loaded, and the C++ library with them: without it they
# can not follow an exception. The first finding ends the run. Python itself never frees everything.
sanitize: $(SANITIZED)/.dev
	TABPE_EXPECT_NATIVE=1 TABPE_FEWER_EXAMPLES=4 PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1 \
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	LD_PRELOAD="$(foreach name,asan ubsan stdc++,$(shell $(CXX) -print-file-name=lib$(name).so))" \
	$(SANITIZED)/bin/python -m pytest -p no:cacheprovider --capture=sys \
		tests/architecture/test_native.py tests/properties/test_native.py tests/unit/backends \
		tests/properties/test_native_sums.py tests/unit/evolution/test_weight_fit.py

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_names.py

format: $(VENV)/.dev
	$(BIN)/python tools/write_options.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench $(PEERS)/.dev
	cd lab && ../$(BIN)/python -m benchmarks.reproduce
	cd lab && ../$(BIN)/python -m benchmarks.voting
	cd lab && ../$(BIN)/python -m benchmarks.strategies
	cd lab && ../$(BIN)/python -m benchmarks.forms
	cd lab && ../$(BIN)/python -m benchmarks.sharpness
	cd lab && ../$(BIN)/python -m benchmarks.streaming
	cd lab && ../$(BIN)/python -m benchmarks.warehouse
	cd lab && ../$(BIN)/python -m benchmarks.cluster
	cd lab && ../$(BIN)/python -m benchmarks.audit
	cd lab && ../$(BIN)/python -m benchmarks.private_schema
	cd lab && ../$(BIN)/python -m benchmarks.detection
	cd lab && ../$(BIN)/python -m benchmarks.wasserstein
	cd lab && ../$(PEERS)/bin/python -m benchmarks.quality
	cd lab && ../$(BIN)/python -m benchmarks.real_tables
	cd lab && ../$(BIN)/python -m benchmarks.reports
	cd lab && ../$(BIN)/python -m benchmarks.rivals --iterations 250 --inference numpy

lab: $(VENV)/.lab
	$(BIN)/tabpe-lab run lab/experiments/quick.yaml

wheel: $(VENV)/.dev
	$(BIN)/python -m build --outdir dist

clean:
	rm -rf $(VENV) build dist tabpe-demo .coverage* .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis .import_linter_cache

%/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tabpe needs Python 3.11 or newer: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $* || \
		{ $(PYTHON) -m pip install --quiet virtualenv && $(PYTHON) -m virtualenv $*; }

# The demo ends with a report, which needs the extra.
$(VENV)/.core: $(VENV)/bin/python $(BUILD)
	$(INSTALL) -e '.[report]'
	@touch $@

# CI tests the part that uses torch as well; elsewhere torch is yours to install, see TORCH.
$(VENV)/.dev: $(VENV)/bin/python $(BUILD) lab/pyproject.toml
	$(INSTALL) -e '.[dev]'
	$(INSTALL) --no-deps -e lab
	$(if $(CI),$(INSTALL) $(TORCH))
	@touch $@ $(VENV)/.core

# The report is tested in a browser: Debian's chromium is installed if there is none and that can be.
$(VENV)/.browser: $(VENV)/bin/python
	@for name in chromium chromium-browser google-chrome; do command -v $$name && exit; done; \
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } || \
		echo "no chromium: the tests of the report in a browser are skipped; install it to run them"
	@touch $@

# Tables in a database are tested with a real server, in the same way.
$(VENV)/.postgres: $(VENV)/bin/python
	@command -v postgres || ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null || \
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends postgresql; } || \
		echo "no postgresql: the tests of tables in PostgreSQL are skipped; install it to run them"
	@touch $@

$(VENV)/.java: $(VENV)/bin/python
	@command -v java || \
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends default-jre-headless; } || \
		echo "no java: the tests of Spark are skipped; install it to run them"
	@touch $@

$(PEERS)/.dev: $(PEERS)/bin/python $(BUILD)
	$(INSTALL) -e '.[dev,peers]' --config-settings=wheel.cmake=false
	$(INSTALL) --no-deps -e lab
	@touch $@

$(PURE)/.dev: $(PURE)/bin/python $(BUILD)
	$(INSTALL) -e '.[dev]' --config-settings=wheel.cmake=false
	$(INSTALL) --no-deps -e lab
	@touch $@

$(SANITIZED)/.dev: $(SANITIZED)/bin/python $(BUILD)
	$(INSTALL) hypothesis pandas pytest -e . \
		--config-settings=cmake.define.TABPE_SANITIZE=ON --config-settings=cmake.build-type=RelWithDebInfo --config-settings=install.strip=false \
		--config-settings=build-dir=$(SANITIZED)/objects
	@touch $@

# The laboratory: data sets, experiments and baselines, without what tests need.
$(VENV)/.lab: $(VENV)/bin/python $(BUILD) lab/pyproject.toml
	$(INSTALL) -e . -e lab
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) $(TORCH) || echo "no torch: the benchmark of the votes leaves it out"
	@touch $@
