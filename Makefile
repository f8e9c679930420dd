# Every target creates .venv if it is missing, and skips the steps that are done.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check --quiet
CORES  ?= 2
GROWING_KILLS ?= 24
BENCHMARKS := sum_error arrivals growing_store growing_year median_rank_error grown_release fwht kmeans_line batch_queries_curve exact_verifier survey delete retain synthetic adult publish engines group_by delete_postgres serve third_party false_alarms forgetting accuracy

.PHONY: demo report test test-all margins docs lint mutants faults faults-sqlite faults-service faults-postgres bench build clean help

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(VENV)/.core: pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e '.[plots,serve]'
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.services: $(VENV)/.dev
	$(PIP) install -c constraints.txt -e '.[services]'
	@touch $@

demo: $(VENV)/.core  ## show that a retraining curator leaks the people who stay, and that ours does not
	@$(BIN)/undeleted demo

report: $(VENV)/.core  ## run every claim of the paper; write a page about them to report/
	$(BIN)/undeleted reproduce --quick --out report

test: $(VENV)/.dev  ## every test that needs no service, except for a few slow ones
	$(BIN)/pytest -n $(CORES) --dist worksteal $(FLAGS)

test-all: $(VENV)/.services  ## all tests: slow ones, and those that need PostgreSQL, Spark (Java 17) or a browser (Chromium); none may be skipped
	$(MAKE) test FLAGS=--no-skips
	$(BIN)/pytest -n $(CORES) --dist worksteal -m slow --no-skips
	$(BIN)/pytest -n $(shell echo $$(($(CORES) + 1))) --dist loadfile -m services --no-skips

margins: $(VENV)/.dev  ## tests with noise four times as wide: a test that fails here would otherwise fail at random now and then
	for i in 1 2 3; do $(BIN)/pytest -q -n $(CORES) --dist worksteal --wider-noise 4 $(FLAGS) || exit 1; done

docs: $(VENV)/.services  ## build the documentation in docs/_build; warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build
	@echo "docs/_build/index.html"

lint: $(VENV)/.dev  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/tables.py --check
	$(BIN)/python tests/mutants/run.py --check
	$(BIN)/python tests/support/retired_words.py

mutants: $(VENV)/.services  ## break the source in named ways; the named test must fail
	$(BIN)/python tests/mutants/run.py $(FLAGS)

faults: faults-sqlite faults-postgres faults-service  ## kill processes, drop connections, let eight processes delete at once; check the stores afterwards

faults-sqlite: $(VENV)/.services
	cd tests && ../$(BIN)/python -m support.kills --kills 120
	cd tests && ../$(BIN)/python -m support.kills --kills 80 --receipts
	cd tests && ../$(BIN)/python -m support.growing_kills --kills $(GROWING_KILLS)

faults-service: $(VENV)/.services
	cd tests && ../$(BIN)/python -m support.service_kills --kills 52

faults-postgres: $(VENV)/.services
	cd tests && ../$(BIN)/python -m support.kills --kills 30 --postgres
	cd tests && ../$(BIN)/python -m support.kills --kills 20 --postgres --receipts
	cd tests && ../$(BIN)/python -m support.growing_kills --kills 12 --postgres
	cd tests && ../$(BIN)/python -m support.drops --drops 52
	cd tests && ../$(BIN)/python -m support.crowd --processes 8 --seconds 60

bench: $(VENV)/.services  ## run every benchmark; fail if a stated ratio is missed
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done
	$(BIN)/python benchmarks/tables.py

build: $(VENV)/.dev  ## wheel and sdist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

clean:           ## remove everything that make created
	rm -rf $(VENV) dist build benchmarks/out docs/_build report .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
