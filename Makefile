# Everything here sets up .venv from nothing by itself, and does nothing twice.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check --quiet
CORES  ?= 2
BENCHMARKS := sum_error median_rank_error grown_release fwht kmeans_line batch_queries_curve exact_verifier survey delete adult publish third_party false_alarms forgetting accuracy

.PHONY: demo test test-all lint mutants faults bench build clean help

help:            ## what can be made
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(VENV)/.core: pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(VENV)/.core  ## watch a retraining curator leak the people who stay, and ours not
	@$(BIN)/undeleted demo

test: $(VENV)/.dev  ## every test that needs no service
	$(BIN)/pytest -n $(CORES) --dist worksteal

test-all: test  ## the tests that need services too (there are none yet)

lint: $(VENV)/.dev  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/tables.py --check

mutants: $(VENV)/.dev  ## break the source in named ways; the named test must notice
	$(BIN)/python tests/mutants/run.py

faults: $(VENV)/.dev  ## kill two hundred processes that publish and delete, and see what they left
	cd tests && ../$(BIN)/python -m support.kills --kills 200

bench: $(VENV)/.dev  ## every benchmark; fails when a stated ratio is missed
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done
	$(BIN)/python benchmarks/tables.py

build: $(VENV)/.dev  ## wheel and sdist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

clean:           ## remove everything that was made
	rm -rf $(VENV) dist build benchmarks/out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
