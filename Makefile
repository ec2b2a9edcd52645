# Everything is set up in .venv from requirements/dev.txt, by plain venv and pip.
# Paths are relative throughout, so a checkout may lie below a folder with spaces.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run quick test test-sandbox test-clients test-release lint types layers unit requirements house fix spec-update docs site bench agentdojo fuzz lock clean

run: .venv/.ready ## a scripted agent under rules of all languages
	@$(BIN)/bylaw demo

quick: lint types ## lint, types and the tests of the pure layers, with few examples, in a minute
	BYLAW_HYPOTHESIS=quick $(BIN)/python -m pytest -q --numprocesses 2 --dist worksteal \
	  tests/model tests/expr tests/paths tests/engine tests/house

test: lint types layers unit requirements ## everything that CI checks

lint: .venv/.ready
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check

types: .venv/.ready
	$(BIN)/python -m mypy

layers: .venv/.ready
	$(BIN)/python -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

# Most tests wait for processes and disks, so they run side by side, file by file, the longest
# files first (tests/conftest.py).
unit: .venv/.ready
	$(BIN)/python -m pytest -q --numprocesses 4 --dist loadfile --no-loadscope-reorder

test-sandbox: .venv/.ready ## harmful commands, with bubblewrap if it works, then without
	$(BIN)/python -m pytest -q tests/sandbox
	BYLAW_TEST_ISOLATION=none $(BIN)/python -m pytest -q tests/sandbox

# Real clients, pinned, with their own node. They mostly wait for each other.
test-clients: .venv/clients/.ready ## real coding agents under our hooks, against a model on loopback
	$(BIN)/python -m pytest -q --numprocesses 3 tests/clients

test-release: .venv/.ready ## build it, install it with pipx in an empty home, use it
	$(BIN)/python -m pytest -q tests/release

requirements: .venv/.ready ## which cases check which requirement; FULL=1 prints every id
	$(BIN)/python tests/requirement_table.py $(if $(FULL),--full)

house: .venv/.ready ## print figures of the source; FOLDER=… for another checkout
	$(BIN)/python tools/house.py $(FOLDER)

fix: .venv/.ready ## fix what ruff can fix
	$(BIN)/python -m ruff check --fix
	$(BIN)/python -m ruff format

spec-update: .venv/.ready ## update what the pages of spec/ expect, for review in git
	BYLAW_SPEC_UPDATE=1 $(BIN)/python -m pytest -q tests/test_spec.py

docs: .venv/.ready ## update the generated pages of docs/
	$(BIN)/python docs/generate.py

site: .venv/site/.ready ## build docs/ and all that it links to as plain HTML in dist/site
	.venv/site/bin/python docs/site.py .venv/site/work dist/site

.venv/site/.ready: requirements/site.txt
	$(PYTHON) -m venv .venv/site
	.venv/site/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.txt
	@touch .venv/site/.ready

bench: .venv/.ready ## measure against peers; fails past a budget
	$(BIN)/python bench/install_peers.py
	$(BIN)/python bench/run.py

# The package asks for clients of many models; none of them is installed.
agentdojo: .venv/agentdojo/.ready ## compare examples/agentdojo/tasks.jsonl with the real package
	.venv/agentdojo/bin/python examples/agentdojo/extract.py --check

fuzz: .venv/.ready ## fuzz every parser for SECONDS (default 60) each
	$(BIN)/python tests/fuzz/drive.py --seconds $(or $(SECONDS),60)

lock: ## pin the newest versions that pyproject.toml allows
	$(PYTHON) -m venv .venv/lock && .venv/lock/bin/python -m pip install --quiet uv
	.venv/lock/bin/uv pip compile pyproject.toml --group dev --all-extras --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --quiet --upgrade --output-file requirements/dev.txt
	.venv/lock/bin/uv pip compile --group clients --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --quiet --upgrade --output-file requirements/clients.txt
	.venv/lock/bin/uv pip compile --group site --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --quiet --upgrade --output-file requirements/site.txt

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Bylaw needs Python 3.11 or newer; say which with make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch .venv/.ready

.venv/clients/.ready: .venv/.ready requirements/clients.txt tests/clients/package-lock.json
	$(PYTHON) -m venv .venv/node
	.venv/node/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/clients.txt
	$(BIN)/python tests/clients/install.py .venv/node .venv/clients
	@touch .venv/clients/.ready

.venv/agentdojo/.ready: examples/agentdojo/requirements.txt
	$(PYTHON) -m venv .venv/agentdojo
	.venv/agentdojo/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@
