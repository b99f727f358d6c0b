# Two commands are all that a newcomer needs: `make quickstart` and `make test`.
# They make .venv themselves, with nothing but Python 3.11 or later, pip and make.
PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
BIN := .venv/bin
READY := .venv/ready
# Hundreds of processes import the same files, also where Python is told to keep nothing compiled.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# No other file than one whose hash is there: locks/ has those of all platforms.
ADD := $(PIP) --require-hashes --requirement
ONE_NODE := tests/cluster/slurm-one-node
# Snakemake removes its lock of the folder when it ends, unless it is killed (`kill -9`).
TELL_OF_LOCK = if ls .snakemake/locks/*.lock >/dev/null 2>&1; then echo; \
  echo "This folder is locked. If no other Snakemake works here (one was killed, or the power failed):"; \
  echo "  $(BIN)/snakemake --unlock && make $@"; \
  echo "What is trained is kept."; fi

# All rules run in the one environment that Snakemake runs in, so that none names another; the rest of
# `snakemake --lint` holds.
LINT = from snakemake.linting.rules import RuleLinter; from snakemake.cli import main; \
  del RuleLinter.lint_missing_software_definition; main(["--lint"])

.PHONY: help quickstart test test-slurm slurm peers dask train dist site lint format benchmark lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): locks/dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "privcurve needs Python 3.11 or later: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv
	$(ADD) locks/dev.lock
	$(PIP) --no-deps --editable .
	@touch $@

quickstart: $(READY)  ## set up, then a small study on data that needs no download (VERBOSE=1: show Snakemake)
	@echo '$(BIN)/snakemake $@ --cores $(CORES)'
	@$(BIN)/python -m privcurve.workflow.study --cores $(CORES) $(if $(VERBOSE),--verbose) $@ \
	  || { $(TELL_OF_LOCK); exit 1; }

test: $(READY)  ## set up, then the test suite
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal

test-slurm: slurm  ## tests on a SLURM of one node, started for them; root on Debian
	@trap '$(ONE_NODE) stop' EXIT; trap 'exit 130' INT TERM; \
	  $(ONE_NODE) start && PRIVCURVE_TEST_SLURM=1 $(BIN)/python -m pytest tests/cluster

slurm: $(READY)  ## add SLURM's executor, and Debian's SLURM for the tests; root on Debian
	$(ADD) locks/slurm.lock
	$(ONE_NODE) install

peers: $(READY)  ## add the optional packages of the study `peers`
	$(ADD) locks/peers.lock

dask: $(READY)  ## add Dask, for records on several machines
	$(ADD) locks/dask.lock

train: $(READY)  ## add JAX, to train the network of PrivGAM
	$(ADD) locks/train.lock

dist:  ## build the wheel, and use it alone in an empty environment
	PYTHON=$(PYTHON) .ci/dist

site: $(READY)  ## build the pages of docs/ into site/, strictly, and run their notebooks
	$(ADD) locks/docs.lock
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

lint: $(READY)  ## ruff, mypy, snakefmt, snakemake --lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check workflow
	$(BIN)/python -c '$(LINT)'

format: $(READY)  ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt workflow

benchmark: $(READY)  ## speed of kernels (ratios in one run), audit, workflow
	$(BIN)/python benchmarks/lazybb.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/partial.py
	$(BIN)/python benchmarks/privgam.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/scale.py

lock:  ## write locks/ anew for what pyproject.toml asks, with the versions that are there
	PYTHON=$(PYTHON) .ci/lock $(LOCK)

clean:  ## remove the environment and caches, not the results
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist
