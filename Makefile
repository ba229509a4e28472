# Two commands: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
# One BLAS thread for each test worker: workers times threads never exceed the cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# Each worker takes tests that follow one another, as they share fixtures, and helps out at the end.
PYTEST := -m pytest -n $(WORKERS) --dist worksteal
DOCS_OUTPUT := docs/_build docs/auto_gallery docs/reference/generated docs/sg_execution_times.rst

.PHONY: help demo paper examples docs check-docs pages notebooks test test-slow test-lowest test-newest test-series fuzz \
	lint format bench gpu package clean
help:  ## what each target does
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# uv, in an environment of its own, makes all environments: in a quarter of pip's time, with the
# lowest versions, which pip cannot find, and with a newer Python.
UV := .venv-uv/bin/uv
INSTALL := $(UV) pip install --quiet --python

$(UV):
	$(PYTHON) -m venv .venv-uv
	.venv-uv/bin/python -m pip install --quiet uv

$(VENV)/.core: pyproject.toml | $(UV)
	test -x $(BIN)/python || $(UV) venv --quiet --seed --python '$(PYTHON)' $(VENV)
	$(INSTALL) $(BIN)/python --editable '.[all]'
	touch $@

# PyTorch's build without CUDA. Where there is none at hand, its tests are skipped and say so.
# pip looks for it, because builds like this one often are where only pip is told to look.
TORCH ?= torch==2.13.0+cpu

$(VENV)/.test: $(VENV)/.core
	$(INSTALL) $(BIN)/python --editable '.[test]'
	$(BIN)/python -m pip install --quiet '$(TORCH)' || echo 'no $(TORCH): tests on PyTorch are skipped'
	touch $@

$(VENV)/.lint: $(VENV)/.core
	$(INSTALL) $(BIN)/python --editable '.[lint]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(INSTALL) $(BIN)/python --editable '.[docs]'
	touch $@

$(VENV)/.bench: $(VENV)/.core
	$(INSTALL) $(BIN)/python --editable '.[bench]'
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

check-docs: $(VENV)/.test  ## look at every page of the built documentation in Chromium
	$(BIN)/python -m docs.check_site

pages: $(VENV)/.core  ## write what commands print into README and pages, and draw their pictures
	$(ONE_THREAD) $(BIN)/python -m docs.pages

notebooks: $(VENV)/.docs  ## make and run the notebooks of docs/notebooks
	$(ONE_THREAD) $(BIN)/python -m docs.make_notebooks

test: $(VENV)/.test  ## the tests, without the slow ones
	$(ONE_THREAD) $(BIN)/python $(PYTEST) -m 'not slow'

test-slow: $(VENV)/.test  ## the slow tests: golden outputs and the paper's figures
	$(ONE_THREAD) $(BIN)/python $(PYTEST) -m slow tests

# The versions that pyproject.toml promises, tested at both ends.
LOWEST_PYTHON ?= 3.11
NEWEST_PYTHON ?= 3.14 3.13 3.12

.venv-lowest/.test: pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --python $(LOWEST_PYTHON) .venv-lowest
	$(INSTALL) .venv-lowest/bin/python --resolution lowest-direct --editable '.[test]'
	touch $@

.venv-newest/.test: pyproject.toml | $(UV)
	$(UV) venv --quiet --clear .venv-newest \
	    --python "$$(.ci/newest_python $(UV) $(PYTHON) $(NEWEST_PYTHON))"
	$(INSTALL) .venv-newest/bin/python --upgrade --editable '.[test]'
	touch $@

# Left out there: what starts programs, clusters or browsers, or looks at clocks or the system's memory,
# but hardly depends on versions; and the pages, whose numbers come from the versions of the day.
FEWER := -m 'not slow' $(patsubst %,--ignore=tests/test_%.py,cells check_site cli_demo cli_paper \
	comparison_store dask_cluster dask_memory docs examples fuzz label_free_study lazy_loading pages \
	plan_model plan_pilot promises_process report_browser stpca_device streaming_memory)

# Pictures, pages and commands have the same versions in `make test`, only of an older Python.
FEWEST := $(FEWER) $(patsubst %,--ignore=tests/test_%.py,cli_compare cli_select comparison \
	plotting_decomposition promises_pictures report)

test-lowest: .venv-lowest/.test  ## most tests, on the lowest versions promised
	# Old releases warn of what newer ones of their own dependencies deprecate.
	$(ONE_THREAD) .venv-lowest/bin/python $(PYTEST) $(FEWER) \
	    -W ignore::DeprecationWarning

test-newest: .venv-newest/.test  ## most tests, on a newer Python with the newest versions
	$(ONE_THREAD) .venv-newest/bin/python $(PYTEST) $(FEWEST)

# In an environment of their own, because their upper bounds would replace what is installed.
.venv-series/.test: pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --python '$(PYTHON)' .venv-series
	$(INSTALL) .venv-series/bin/python --prerelease disallow --editable '.[test-series]'
	touch $@

test-series: .venv-series/.test  ## the channel selectors of aeon and sktime, by their own checks
	$(ONE_THREAD) .venv-series/bin/python $(PYTEST) src/tensift/series \
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
