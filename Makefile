# Everything goes into .venv; nothing else on the machine is changed. Needs GNU make and Python 3.11 or newer.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
SPARK_STAMP := $(VENV)/.installed-spark

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of interpreters

# The stamp holds the place it was made for: an editable install in a folder that was moved or copied points to the old one.
ifneq ($(shell cat "$(STAMP)" 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help run install test pytest programs browser tmux postgres java spark check coverage bench soak dist pin clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

run: $(STAMP) ## install, then run hansard on your own history (it offers a demo where there is none)
	@"$(BIN)/hansard"

install: $(DEV_STAMP) ## make .venv with everything that tests, checks and benchmarks need too, at its pinned version

$(STAMP): pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Hansard needs Python 3.11 or newer as '$(PYTHON)'. Name another: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "This Python cannot make virtual environments. On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV) (once) ..." >&2
	@"$(PYTHON)" -m venv --clear "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet --no-deps --require-hashes -r constraints.txt
	@"$(BIN)/python" -m pip install --quiet --no-deps --no-build-isolation -e .
	@printf '%s\n' "$(CURDIR)" > "$(STAMP)"

$(DEV_STAMP): $(STAMP) constraints-dev.txt
	@echo "Installing what tests and checks need (once) ..." >&2
	@"$(BIN)/python" -m pip install --quiet --no-deps --require-hashes -r constraints.txt -r constraints-dev.txt
	@touch "$(DEV_STAMP)"

# The types are checked beside the tests: mypy is one process, and would leave the other cores idle.
test: ## install, check, run every test, print the 20 slowest
	@$(MAKE) --no-print-directory -j 2 install programs
	@$(MAKE) --no-print-directory -j 2 check pytest

pytest: install
	"$(BIN)/python" -m pytest -n $(WORKERS) --dist worksteal --durations 20

# One after the other: apt runs once at a time.
programs: ## install Chromium and tmux for the tests, as the next two do
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory tmux
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
		echo "No PostgreSQL: the tests of a team's database will be skipped. To run them: make postgres" >&2
	@"$(BIN)/python" -c 'import pyspark' 2>/dev/null || \
		echo "No Spark: the tests of a lake on a cluster will be skipped. To run them: make spark" >&2

# Never fails and never asks for a password: without a browser its tests are skipped.
browser: ## install Chromium for the tests in a browser, if there is none and apt can do it
	@for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome; do \
		if command -v "$$name" >/dev/null; then exit 0; fi; \
	done; \
	if ! command -v apt-get >/dev/null; then \
		echo "No Chromium, and no apt-get to install it: the tests in a browser will be skipped." >&2; exit 0; \
	fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else \
		echo "No Chromium: the tests in a browser will be skipped. To run them: sudo apt-get install chromium" >&2; exit 0; \
	fi; \
	echo "Installing Chromium for the tests (once) ..." >&2; \
	apt="$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=1"; \
	install="$$apt install -y --no-install-recommends"; \
	{ $$apt update && { $$install chromium-headless-shell || $$install chromium; }; } </dev/null >/dev/null 2>&1 || \
		echo "Chromium could not be installed: the tests in a browser will be skipped." >&2

# The same for tmux.
tmux: ## install tmux for the tests in a real terminal, if there is none and apt can do it
	@if command -v tmux >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "No tmux, and no apt-get to install it: the tests in a terminal will be skipped." >&2; exit 0; \
	fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else \
		echo "No tmux: the tests in a terminal will be skipped. To run them: sudo apt-get install tmux" >&2; exit 0; \
	fi; \
	apt="$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=1"; \
	{ $$apt update && $$apt install -y --no-install-recommends tmux; } </dev/null >/dev/null 2>&1 || \
		echo "tmux could not be installed: the tests in a terminal will be skipped." >&2

# Too heavy for every newcomer: .ci/run installs it. The package also starts a server of its own; the tests leave it alone and start theirs.
postgres: ## install PostgreSQL for the tests of `hansard team`, if there is none
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "No apt-get: install PostgreSQL 15 or newer yourself." >&2; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo"; fi; \
	echo "Installing PostgreSQL for the tests (once) ..." >&2; \
	apt="$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=1"; \
	{ $$apt update && $$apt install -y --no-install-recommends postgresql; } </dev/null >/dev/null

# The same for Spark: 850 MB, and Java.
spark: $(SPARK_STAMP) ## install PySpark into .venv for the tests of `hansard lake`, and Java if there is none
	@$(MAKE) --no-print-directory java

$(SPARK_STAMP): $(DEV_STAMP) constraints-spark.txt
	@echo "Installing PySpark (once) ..." >&2
	@"$(BIN)/python" -m pip install --quiet --no-deps --no-build-isolation --require-hashes -r constraints-spark.txt
	@touch "$(SPARK_STAMP)"

java: ## install Java for Spark, if there is none
	@if command -v java >/dev/null || [ -n "$$JAVA_HOME" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "No apt-get: install Java 17 or 21 yourself." >&2; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo"; fi; \
	echo "Installing Java for Spark (once) ..." >&2; \
	apt="$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=1"; \
	{ $$apt update && $$apt install -y --no-install-recommends default-jre-headless; } </dev/null >/dev/null

check: install ## lint, formatting, types, layers
	"$(BIN)/ruff" check
	"$(BIN)/ruff" format --check
	"$(BIN)/python" -m mypy
	"$(BIN)/lint-imports"

# Outside of `make test`, which has no time for tracing every line.
CORE := record clients index sync query ledger thread
COVERED ?= 80

coverage: install ## run the tests of the core packages, and fail if fewer of their lines and branches run than COVERED per cent
	"$(BIN)/python" -m pytest -n $(WORKERS) $(CORE:%=tests/%) $(CORE:%=--cov=hansard.%) --cov-branch --cov-report=term:skip-covered --cov-fail-under=$(COVERED)

bench: install ## print the table of measurements beside their budgets
	"$(BIN)/python" -m benchmarks $(ARGS)

soak: install ## kill syncs at random moments, a thousand times, and check that nothing was lost; then run more random cases of tests
	"$(BIN)/python" tools/soak.py $(ARGS)
	"$(BIN)/python" -m tests.sync.flipping
	"$(BIN)/python" -m pytest -n $(WORKERS) --soak 5 tests/clients/claude_code/test_mutants.py tests/query/search/test_anything.py tests/sync/test_crashes.py

# The same commit gives the same bytes: files are dated by it, and the compiler leaves out where it was called.
dist: $(STAMP) ## build the sdist, the pure wheel and the native wheel into dist/, the same bytes for the same commit
	rm -rf dist
	@for pure in 1 0; do \
		SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct)" HANSARD_PURE_PYTHON=$$pure "$(BIN)/python" -m hatchling build -t wheel || exit 1; \
	done
	@SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct)" "$(BIN)/python" -m hatchling build -t sdist
	@cd dist && sha256sum * | tee SHA256SUMS

pin: install ## resolve the newest dependencies into constraints.txt, constraints-dev.txt and constraints-spark.txt
	"$(BIN)/python" tools/pin.py

clean: ## remove .venv and every cache
	rm -rf "$(VENV)" .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
