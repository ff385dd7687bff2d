# make run serves Fencepost; make test runs everything. Both set up what they need, with Python 3.11+ and make alone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# All tests run on all cores, two on each, since browsers, servers and disks are often waited for; those that are named
# run in this process, where a debugger reaches them.
WORKERS ?= $(if $(TESTS),0,$(shell $(PYTHON) -c 'import os; print(2 * os.cpu_count())'))
export HOST ?= 127.0.0.1
export PORT ?= 5001
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test collected lint style types tools check audit sbom extras migration newer docs screenshot clean

run: $(VENV)/.installed
	@exec $(BIN)/fencepost serve

# Compiled modules are written down for the two other workers and for every process that a test starts.
test collected: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.tested browser
	nice -n 19 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

# All tests imported, and compiled with their assertions, which each worker would do where nothing is compiled yet.
collected: $(VENV)/.tested
	$(BIN)/python -m pytest --collect-only --quiet | tail -n 1

lint: style types

style: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/djlint templates --lint --quiet

types: $(VENV)/.linted
	$(BIN)/mypy

# All that tests and lint need, for what runs several of them at once: installed in one go.
tools: $(VENV)/.linted $(VENV)/.tested browser

check: lint test

# The pinned libraries against published advisories; says so where no advisory service answers.
audit: $(VENV)/.tested
	$(BIN)/python .ci/audit.py constraints.txt

# What a release brings along, as CycloneDX: an environment of its own, with the pins and without what tests need.
sbom: $(VENV)/.tested
	$(PYTHON) -m venv --clear build/sbom
	build/sbom/bin/python -m pip install --quiet --constraint constraints.txt '.[server]'
	build/sbom/bin/python -m pip uninstall --quiet --yes pip setuptools
	$(BIN)/python .ci/sbom.py dist/fencepost.cdx.json build/sbom/bin/python

# Optional libraries into this checkout: make extras EXTRAS='redact parquet'
comma := ,
space := $(subst ,, )
extras: $(VENV)/.installed
	@test -n "$(strip $(EXTRAS))" || { echo "Name the extras: make extras EXTRAS='redact parquet'" >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[server,$(subst $(space),$(comma),$(strip $(EXTRAS)))]'

# The first revision, made of the models anew: after a change of a table, until there is a release.
migration: $(VENV)/.linted
	$(BIN)/python -m tests.store.db.first_tables

# Newer releases of the parsers that profiles restate, and on how many texts they differ; for a job, not for each change.
newer: $(VENV)/.tested
	$(BIN)/python -m benchmarks.released --newer

# The tables of docs/ that plugins' docstrings and cases make.
docs: $(VENV)/.tested
	$(BIN)/python -m tests.test_docs_tables

screenshot: $(VENV)/.tested browser
	$(BIN)/python docs/screenshots.py

.PHONY: browser
browser: $(VENV)/.tested
	@sh tests/browser/find.sh $(BIN)

# The pip of Python 3.11 takes three times as long to choose among releases.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fencepost needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip

# Python 3.11's venv brings setuptools, which nothing here needs.
define install
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(1)
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools 2>/dev/null || true
	@touch $(addprefix $(VENV)/,$(2))
endef

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call install,--editable '.[server]',.installed)

# What tests and lint import is compiled then, which is less than all.
$(VENV)/.tested: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call install,--no-compile --editable '.[test]',.installed .tested)

$(VENV)/.linted: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call install,--no-compile --editable '.[test$(comma)lint]',.installed .tested .linted)

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
