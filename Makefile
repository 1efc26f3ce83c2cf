# The commands of a developer. Each one works alone on a fresh clone: it makes .venv when it is
# missing and installs what it needs. `make PYTHON=/path/to/python3.12 test` picks another Python.

PYTHON ?= python3
VENV ?= .venv

# The main job of `make run`.
RUN ?= gcm-deploy descriptors/quickstart.xml
TESTS ?= tests
# Slow tests wait for processes and networks more than they compute. Measured over a sample of them, by
# the processor time of all processes that each one starts: 0.8 s of 2.5 s on a quiet machine, so six
# keep two cores busy.
BY_FILE := --dist loadfile --no-loadscope-reorder
PARALLEL := --numprocesses 2 $(BY_FILE)
PARALLEL_SLOW := --numprocesses 6 $(BY_FILE)
# What all of the quick or of the slow tests have shown.
RESULTS = --junitxml build/results/$@.xml -o junit_logging=all -o junit_log_passing_tests=false
BUDGET ?= 900

BIN := $(VENV)/bin
# Who looks at a terminal sees how far an installation is.
QUIET := $(shell test -t 2 || echo --quiet --quiet)
PIP := $(BIN)/python -m pip install $(QUIET) --disable-pip-version-check
# Many short processes import the packages: none of them should have to compile them first, not even
# where Python is told to write no bytecode.
COMPILE := $(BIN)/python -m compileall -q gcm runtime
# What decides whether an installation is still the right one.
CAUSES := setup.cfg pyproject.toml
CODE := $(wildcard gcm runtime tests tools benchmarks)
EXAMPLES := $(patsubst %/,%,$(dir $(wildcard examples/*/*.py)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help run test test-slow test-all lint format docs conformance fractal bench evaluate mutate constraints clean
MAKEFLAGS += --no-print-directory

help:
	@echo "make run      install into $(VENV) and run the first grid, on this machine"
	@echo "make test     run the quick tests (all of one folder: make test TESTS=tests/mpi)"
	@echo "make test-all run all tests; takes a quarter of an hour or more"
	@echo "make lint     check style, format, types, import rules and names"
	@echo "make format   rewrite the code in the checked format"
	@echo "make docs     build the documentation as a site, build/site/index.html"
	@echo "make conformance  run mpi4py's own tests on grids (CONFORMANCE='--grid 1+1 p2p_buf')"
	@echo "make fractal  check the framework against the Fractal specification, clause by clause"
	@echo "              (NODES=4: with all primitives on so many nodes of a running machine)"
	@echo "make bench    measure against other libraries and print the ratios"
	@echo "make evaluate  measure every figure of the sources again, and write the page (SHORT=1)"
	@echo "make mutate   plant faults in gcm/ and report those no unit test notices (BUDGET=seconds)"
	@echo "make constraints  pin what a release needs, by hashes, in constraints.txt"
	@echo "make clean    remove everything these commands made"
	@echo "Python: $(PYTHON) (3.11 or newer; choose one with PYTHON=...)"

run: $(VENV)/.run
	@$(BIN)/$(RUN)

test: $(VENV)/.dev
	@$(BIN)/python -m pytest --quiet $(if $(filter tests,$(TESTS)),--only quick $(PARALLEL) $(RESULTS)) $(TESTS)

test-slow: $(VENV)/.dev
	@$(BIN)/python -m pytest --quiet --only slow $(PARALLEL_SLOW) $(RESULTS) --durations 40 --durations-min 20 tests

test-all: test test-slow

lint: $(VENV)/.dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { $(BIN)/ruff format --check . ; exit 1; }
	@$(BIN)/mypy --no-error-summary $(CODE)
	@for folder in $(sort $(dir $(wildcard $(EXAMPLES:%=%/*.py)))); do \
		MYPYPATH=$$folder $(BIN)/mypy --no-error-summary $$folder || exit 1; done
	@$(BIN)/lint-imports --no-logo > $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@$(BIN)/python -m tools.check_imports
	@$(BIN)/python -m tools.check_names
	@echo "style, format, types, import rules and names: no complaints"

format: $(VENV)/.dev
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

# The site has whole docstrings and all options. Strict: a link that leads nowhere ends it.
docs: $(VENV)/.docs
	@rm -rf build/pages && mkdir -p build && cp -r docs build/pages
	@$(BIN)/python -m tools.reference --whole build/pages/reference.md
	@$(BIN)/python -m runtime.cli.reference >> build/pages/commands.md
	@$(BIN)/zensical build --strict > $(VENV)/site.txt 2>&1 || { cat $(VENV)/site.txt; exit 1; }
	@echo "build/site/index.html"

conformance: $(VENV)/.dev
	@$(BIN)/python -m tests.conformance $(CONFORMANCE)

fractal: $(VENV)/.dev
	@$(BIN)/python -m tests.fractal $(if $(NODES),--nodes $(NODES))

bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks

evaluate: $(VENV)/.dev
	@$(BIN)/python -m benchmarks.evaluate $(if $(SHORT),--short)

mutate: $(VENV)/.dev
	@$(BIN)/python -m tools.mutate --budget-seconds $(BUDGET)

clean:
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache \
		.import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "No '$(PYTHON)' found. Install Python 3.11 or newer, or name one: make PYTHON=..." >&2; \
		exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "'$(PYTHON)' is $$("$(PYTHON)" --version 2>&1), but 3.11 or newer is needed." \
			"Name one: make PYTHON=/path/to/python3.11" >&2; \
		exit 1; }
	@"$(PYTHON)" -m venv "$(VENV)" || { \
		rm -rf "$(VENV)"; \
		echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; }

# Stamps: the second time costs nothing.
$(VENV)/.run: $(CAUSES) | $(BIN)/python
	@echo "Installing gcm and an MPI into $(VENV) (once) ..."
	@$(PIP) --editable ".[mpi]"
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(CAUSES) | $(BIN)/python
	@echo "Installing gcm, its extras and the developer's tools into $(VENV) (once) ..."
	@$(PIP) --editable ".[mpi,dev]"
	@$(COMPILE)
	@touch $@ $(VENV)/.run

$(VENV)/.bench: $(CAUSES) $(VENV)/.dev
	@echo "Installing what is measured against into $(VENV) (once) ..."
	@$(PIP) --editable ".[mpi,dev,bench]"
	@$(COMPILE)
	@touch $@

$(VENV)/.docs: $(CAUSES) $(VENV)/.dev
	@echo "Installing what builds the documentation into $(VENV) (once) ..."
	@$(PIP) --editable ".[mpi,dev,docs]"
	@touch $@

# What a release was tested with, by hashes; made again before each one.
constraints: | $(BIN)/python
	@$(BIN)/python -m venv build/pinning && build/pinning/bin/pip install --quiet pip-tools
	@build/pinning/bin/pip-compile --quiet --upgrade --generate-hashes --extra mpi --strip-extras --no-annotate \
		--no-header --no-emit-index-url --no-emit-find-links --output-file constraints.txt setup.cfg
