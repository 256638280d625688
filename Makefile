# Every target sets up .venv first (scripts/bootstrap.py); when nothing changed, that takes a blink.
PYTHON ?= python3
BOOTSTRAP := $(PYTHON) scripts/bootstrap.py
EXTRAS := dev,apps,local,postgres
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: help install demo test lint types contracts hashes check bench coverage lines wheel clean

help: ## this list
	@echo "make TARGET [ARGS='...']      (no make: python demo.py, python scripts/bootstrap.py --extras dev)"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1@\2/p' Makefile | awk -F@ '{ printf "%-12s %s\n", $$1, $$2 }'

install: ## everything that development needs, into .venv, with the pinned versions
	@$(BOOTSTRAP) --extras $(EXTRAS)

demo: ## the whole chain in a minute: no key, no GPU (LIVE=1: with the embedded model, 93 MB once)
	@$(PYTHON) demo.py $(if $(filter-out 0,$(LIVE)),--live) $(ARGS)

test: install ## the tests (ARGS='tests/annotate -k store')
	@$(BIN)/python -m pytest $(ARGS)

lint: install ## ruff
	@$(BIN)/ruff check .

types: install ## mypy --strict
	@$(BIN)/mypy
	@$(BIN)/mypy scripts

contracts: install ## who may import whom (import-linter)
	@$(BIN)/lint-imports

hashes: ## the table of hashes in data/README.md is fresh
	@$(PYTHON) scripts/data_hashes.py --check

check: lint types contracts hashes test ## all of the above

bench: install ## ratios and figures: gateway, import, a million verdicts, α and ρ with their resamples
	@for file in tests/benchmarks/bench_*.py; do $(BIN)/python $$file $(ARGS) || exit 1; done

coverage: install ## how often the intervals hold the truth: the whole grid of simulations, into docs/coverage.md
	@$(BIN)/python scripts/coverage_table.py $(ARGS)

lines: install ## the tests, and the lines and branches that none of them reaches
	@$(BIN)/coverage run -m pytest $(ARGS)
	@$(BIN)/coverage report

wheel: install ## dist/: the source distribution and the wheel
	@$(BIN)/python -m build --outdir dist .
	@rm -rf usercal.egg-info

clean: ## remove caches and builds; .venv and studies stay
	@rm -rf build dist *.egg-info .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .benchmarks
	@find annotate simulate calibrate apps data scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +
