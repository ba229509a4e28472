# Two commands: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
# One BLAS thread for each test worker: workers times threads never exceed the cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
DOCS_OUTPUT := docs/_build docs/auto_gallery docs/reference/generated docs/sg_execution_times.rst

.PHONY: help demo paper examples docs test test-slow lint format bench gpu clean
help:  ## what each target does
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	touch $@

# PyTorch's build without CUDA. Where there is none at hand, its tests are skipped and say so.
TORCH ?= torch==2.13.0+cpu

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m pip install --quiet '$(TORCH)' || echo 'no $(TORCH): tests on PyTorch are skipped'
	touch $@

$(VENV)/.lint: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

demo: $(VENV)/.core  ## select pixels and channels on bundled data, ending in a picture
	$(BIN)/tensift demo --output demo

paper: $(VENV)/.core  ## every table and figure of the paper, on small data
	$(BIN)/tensift paper --fast --jobs -1 --output demo/paper

examples: $(VENV)/.bench  ## compress, denoise, map, higher orders: each ends in a picture
	for name in compress denoise component_map higher_order; do \
	    $(BIN)/python examples/$$name.py --output demo || exit 1; done

docs: $(VENV)/.docs  ## the documentation, all examples executed, in docs/_build/html
	rm -rf $(DOCS_OUTPUT)
	$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going docs docs/_build/html

test: $(VENV)/.test  ## the tests, without the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m 'not slow'

test-slow: $(VENV)/.test  ## the slow tests: golden outputs and the paper's figures
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m slow tests

lint: $(VENV)/.lint  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench  ## our fit beside its rivals, in one run
	$(BIN)/python -m benchmarks

gpu:  ## tests and benchmark of arrays on an accelerator, with the Python that has its libraries
	PYTHON=$(PYTHON) benchmarks/on_gpu.sh

clean:  ## remove the environment and the demo's output
	rm -rf $(VENV) $(DOCS_OUTPUT) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
