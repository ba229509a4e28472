# Two commands: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
# One BLAS thread for each test worker: workers times threads never exceed the cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
DOCS_OUTPUT := docs/_build docs/auto_gallery docs/reference/generated docs/sg_execution_times.rst

.PHONY: help demo paper examples docs pages test test-slow test-lowest test-newest test-series fuzz \
	lint format bench gpu package clean
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

pages: $(VENV)/.core  ## write what commands print into README and pages, and draw their pictures
	$(ONE_THREAD) $(BIN)/python -m docs.pages

test: $(VENV)/.test  ## the tests, without the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m 'not slow'

test-slow: $(VENV)/.test  ## the slow tests: golden outputs and the paper's figures
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m slow tests

# The versions that pyproject.toml promises, tested at both ends. uv, in an environment of its own,
# installs the lowest versions, which pip cannot, and finds a newer Python.
UV := .venv-uv/bin/uv
LOWEST_PYTHON ?= 3.11
NEWEST_PYTHON ?= 3.14 3.13 3.12

$(UV):
	$(PYTHON) -m venv .venv-uv
	.venv-uv/bin/python -m pip install --quiet uv

.venv-lowest/.test: pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --python $(LOWEST_PYTHON) .venv-lowest
	$(UV) pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
	    --editable '.[test]'
	touch $@

.venv-newest/.test: pyproject.toml | $(UV)
	$(UV) venv --quiet --clear .venv-newest \
	    --python "$$(.ci/newest_python $(UV) $(PYTHON) $(NEWEST_PYTHON))"
	$(UV) pip install --quiet --python .venv-newest/bin/python --upgrade --editable '.[test]'
	touch $@

# Left out there: what depends on a cluster, a browser, processes, clocks or the system's memory, but
# hardly on versions, and the pages, whose numbers come from the versions of the day.
FEWER := -m 'not slow' $(addprefix --ignore=tests/test_,cells.py dask_cluster.py dask_memory.py \
	fuzz.py pages.py plan_model.py plan_pilot.py promises_process.py report_browser.py \
	streaming_memory.py)

test-lowest: .venv-lowest/.test  ## most tests, on the lowest versions promised
	# Old releases warn of what newer ones of their own dependencies deprecate.
	$(ONE_THREAD) .venv-lowest/bin/python -m pytest -n $(WORKERS) $(FEWER) \
	    -W ignore::DeprecationWarning

test-newest: .venv-newest/.test  ## most tests, on a newer Python with the newest versions
	$(ONE_THREAD) .venv-newest/bin/python -m pytest -n $(WORKERS) $(FEWER)

# In an environment of their own, because their upper bounds would replace what is installed.
.venv-series/.test: pyproject.toml
	test -x .venv-series/bin/python || $(PYTHON) -m venv .venv-series
	.venv-series/bin/python -m pip install --quiet --upgrade pip
	.venv-series/bin/python -m pip install --quiet --editable '.[test-series]'
	touch $@

test-series: .venv-series/.test  ## the channel selectors of aeon and sktime, by their own checks
	$(ONE_THREAD) .venv-series/bin/python -m pytest -n $(WORKERS) src/tensift/series \
	    tests/test_series.py tests/test_aeon.py tests/test_sktime.py tests/test_inputs.py

SECONDS ?= 120
SEED ?= 0

fuzz: $(VENV)/.test  ## random cases for SECONDS=120 from SEED=0; says how to repeat each failure
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

lint: $(VENV)/.lint  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench  ## our fit beside its rivals, in one run
	$(BIN)/python -m benchmarks

# SDIST_TESTS=1 also unpacks the sdist and runs the fast tests from there, as a packager would.
SDIST_TESTS ?=

package:  ## wheel and sdist in dist/, checked and tried in an environment of their own
	test -x .venv-release/bin/python || $(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet 'build>=1.2.2' 'twine>=6.1'
	rm -rf dist
	.venv-release/bin/python -m build --outdir dist .
	.venv-release/bin/python -m twine check --strict dist/*
	PYTHON='$(PYTHON)' .ci/try_package dist $(if $(SDIST_TESTS),--tests)

gpu:  ## tests and benchmark of arrays on an accelerator, with the Python that has its libraries
	PYTHON=$(PYTHON) benchmarks/on_gpu.sh

clean:  ## remove the environments and the demo's output
	rm -rf $(VENV) .venv-lowest .venv-newest .venv-release .venv-series .venv-uv $(DOCS_OUTPUT) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
