# make run serves Fencepost; make test runs everything. Both set up what they need, with Python 3.11+ and make alone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export HOST ?= 127.0.0.1
export PORT ?= 5001
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint check screenshot benchmarks clean

run: $(VENV)/.installed
	@exec $(BIN)/fencepost serve

test: $(VENV)/.tested browser
	$(BIN)/python -m pytest $(TESTS)

lint: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint templates --lint --quiet

check: lint test

screenshot: $(VENV)/.tested browser
	$(BIN)/python docs/screenshots.py

.PHONY: browser
browser: $(VENV)/.tested
	@sh tests/browser/find.sh $(BIN)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fencepost needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools 2>/dev/null || true  # Python 3.11's venv brings it; nothing here needs it
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@

$(VENV)/.linted: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test,lint]'
	@touch $@

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
