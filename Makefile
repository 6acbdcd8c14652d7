# Everything a person or CI types. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
NODE := node_modules/.installed
PAGE := src/dragoman/http/page/index.html
PAGE_SOURCES := $(shell find web/src web/public web/index.html web/vite.config.ts clients/typescript/src -type f ! -name openapi.ts)

# Two more than there are cores, up to eight: many tests wait, e.g. for an agent.
WORKERS := $(shell n=$$(expr $$(nproc) + 2); test $$n -le 8 && echo $$n || echo 8)
# The page's tests run beside Python's where there are cores for both.
SIDE_BY_SIDE := $(shell test $$(nproc) -ge 4 && echo 2 || echo 1)

# Of the catalogue only what tests talk to; opencode-acp is what opencode is installed as.
CATALOGUE := qwen opencode-acp

# Hundreds of daemons are started by the tests; without bytecode each compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup web dist agents tools run dev test check-python check-page test-python test-page quick check format bench torture soak shots docs goldens lock clean

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(INSTALLED) ## Install everything into .venv

$(INSTALLED): pyproject.toml requirements.lock
	@echo "Setting up $(VENV) (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(NODE): package.json package-lock.json web/package.json clients/typescript/package.json
	@command -v npm >/dev/null || { echo "npm is missing: the page needs it, and Node 20.19 or newer, to be built"; exit 1; }
	@echo "Installing what the page is built with (once)"
	npm ci --loglevel=error
	@touch $@

web: $(PAGE) ## Build the page into the package

$(PAGE): $(NODE) $(PAGE_SOURCES) docs/openapi.json
	@echo "Building the page"
	@npm run --silent types -w dragoman-client >/dev/null
	@npm run --silent build -w web -- --logLevel warn

dist: setup web ## Build the wheel, with the page in it, and the source archive
	$(BIN)/python -m hatchling build -d dist

agents: setup ## Install the agents that tests talk to into .agents; says why where one cannot be had
	@$(BIN)/dragoman agents install --all --cache .agents || true
	@for agent in $(CATALOGUE); do $(BIN)/dragoman agents install $$agent --cache .agents || true; done

tools: ## Install what some tests need beside Python, where that can be had: nginx, openssl, Chromium
	@{ command -v nginx || test -x /usr/sbin/nginx; } >/dev/null && command -v openssl >/dev/null \
	  || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light openssl >/dev/null \
	  || echo "nginx cannot be had: the tests behind a proxy are skipped"
	@command -v chromium >/dev/null || test -n "$$CHROMIUM" \
	  || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null \
	  || echo "Chromium cannot be had: the tests of the page will fail; CHROMIUM=/path names another one"

run: setup ## Start the daemon; prints its URL
	@$(MAKE) -s --no-print-directory web || echo "Going on without the page; the API and the command line work"
	@$(BIN)/dragoman serve

dev: setup ## Start the daemon on a folder of its own, with debug logs
	@$(BIN)/dragoman serve --data-dir .dev --log-level debug

check: setup $(NODE) ## Format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_architecture.py tests/test_docs.py
	npm run --silent check

format: setup $(NODE) ## Format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	npm run --silent format

test: setup web agents tools ## Everything that CI runs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j2 check-page check-python
	@$(MAKE) --no-print-directory -j$(SIDE_BY_SIDE) test-page test-python

check-python:
	$(BIN)/mypy

check-page:
	npm run --silent check

test-python:
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-page:
	npm run --silent test
	npm run --silent e2e

QUICK := tests/core tests/wire tests/dialects tests/schema tests/store tests/agents tests/http \
  tests/test_architecture.py tests/test_docs.py

quick: setup $(NODE) ## The inner loop: recordings instead of live agents, no browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow" $(QUICK) \
	  --ignore tests/agents/amp/live --ignore tests/agents/claude/live \
	  --ignore tests/agents/codex/live --ignore tests/agents/opencode/live \
	  --ignore tests/agents/opencode_acp/live --ignore tests/agents/qwen/live \
	  --ignore tests/agents/pi/live --ignore tests/agents/test_handed_over.py \
	  --ignore tests/agents/scenarios \
	  --ignore tests/agents/test_conform.py --ignore tests/agents/test_mutations.py \
	  --ignore tests/agents/test_old_versions.py --ignore tests/http/test_fuzz.py \
	  --ignore tests/http/test_lifecycle.py --ignore tests/http/test_files.py \
	  --ignore tests/http/test_proxy.py --ignore tests/store/test_backup.py

shots: setup web tools ## Take the pictures in docs/images anew
	SHOTS=1 npm run --silent e2e

bench: setup web ## Measure; writes benchmarks/README.md's table to stdout
	$(BIN)/python -m benchmarks

torture: setup ## 1,000 kills of a working daemon
	DRAGOMAN_TEST_KILLS=1000 $(BIN)/pytest tests/torture -n 0 -o timeout=5400

soak: setup ## A crowd around a daemon that dies now and then, for SOAK_S seconds (300)
	SOAK_S=$${SOAK_S:-300} $(BIN)/pytest tests/soak -n 0 -s

docs: setup ## Write what is generated in docs/
	$(BIN)/python -m tests.generated

goldens: setup ## Write what is expected of every recording; read the diff
	$(BIN)/python -m tests.agents.recordings --write

lock: setup ## Resolve requirements.lock anew
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-emit-find-links --allow-unsafe --strip-extras --extra dev -o requirements.lock pyproject.toml

clean: ## Remove what was made, but no data
	rm -rf $(VENV) node_modules clients/typescript/dist $(dir $(PAGE)) .mypy_cache .ruff_cache .pytest_cache .hypothesis .dev dist build
