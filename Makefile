# Everything a person or CI types. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup agents tools run dev test check format bench torture soak docs goldens lock clean

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(INSTALLED) ## Install everything into .venv

$(INSTALLED): pyproject.toml requirements.lock
	@echo "Setting up $(VENV) (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

agents: setup ## Install the agents that tests talk to into .agents; says why where one cannot be had
	@$(BIN)/dragoman agents install --all --cache .agents || true

tools: ## Install what some tests need beside Python, where that can be had: nginx, openssl
	@{ command -v nginx || test -x /usr/sbin/nginx; } >/dev/null && command -v openssl >/dev/null \
	  || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light openssl >/dev/null \
	  || echo "nginx cannot be had: the tests behind a proxy are skipped"

run: setup ## Start the daemon; prints its URL
	@$(BIN)/dragoman serve

dev: setup ## Start the daemon on a folder of its own, with debug logs
	@$(BIN)/dragoman serve --data-dir .dev --log-level debug

check: setup ## Format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_architecture.py tests/test_docs.py

format: setup ## Format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: setup agents tools ## Everything that CI runs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: setup ## Measure; writes benchmarks/README.md's table to stdout
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
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .dev dist build
