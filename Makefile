# Memory Workbench: everything a person or CI runs. `make` alone lists it.
# Needs make and Python 3.11 or newer (make PYTHON=python3.12 setup); the rest goes into .venv.

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
LOCKER = build/lock
DATA ?= ../shared/data
LOCOMO = $(DATA)/locomo/locomo10.json

.PHONY: help setup run test lint units browser-tests soak bench figures screenshots notebooks wheel-test browser lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -e 's/:.*## /|/' | awk -F'|' '{ printf "make %-14s %s\n", $$1, $$2 }'

setup: $(READY) ## make .venv as requirements.lock says, with this folder as the installed package

run: setup ## open the workbench on the demo conversations
	$(BIN)/workbench open --demo

test: lint units browser-tests notebooks ## everything below that says yes or no

lint: setup ## rules, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

units: setup ## tests without a browser, on two cores
	$(BIN)/pytest -n 2 --dist worksteal -m "not browser and not screenshots" --durations=10 --junitxml=artifacts/units.xml

browser-tests: setup browser ## tests in Chromium; those of one file share a server, one after another
	$(BIN)/pytest -n 2 --dist loadfile -m "browser and not screenshots" --durations=10 --junitxml=artifacts/browser.xml

notebooks: setup ## run every notebook from top to bottom
	$(BIN)/pytest --nbmake --nbmake-timeout=300 -n 2 --durations=10 --junitxml=artifacts/notebooks.xml notebooks

wheel-test: setup ## build the wheel and use it in an environment of its own
	$(BIN)/pytest -m wheel --durations=3

soak: setup ## kill 200 writers, have others write for minutes, then all tests of killed and of many processes
	WORKBENCH_KILLS=200 WORKBENCH_SOAK_S=180 $(BIN)/pytest tests/memory/stores tests/memory/test_deferred.py \
		-k "soak or kill or processes or workers or writers or at_once or deferred" \
		-o log_cli=true -o log_cli_level=INFO --durations=5 --junitxml=artifacts/soak.xml

bench: setup ## measure time and memory (leave the machine alone), and conflicts where DATA is
	$(BIN)/workbench bench engine --json
	@test ! -d $(DATA) || $(BIN)/workbench bench conflicts --data $(DATA) --json

figures: setup ## every table of notebooks/LOG.md that a command makes, from the data sets in DATA (two hours)
	@mkdir -p artifacts
	$(BIN)/workbench bench engine --json
	$(BIN)/workbench bench pages --json
	$(BIN)/workbench bench baselines --json
	$(BIN)/workbench bench baselines $(LOCOMO) --json
	$(BIN)/workbench bench retrieval --locomo $(LOCOMO) --vectors artifacts/locomo.npz --json
	$(BIN)/workbench bench paging --locomo $(LOCOMO) --vectors artifacts/locomo.npz --json
	$(BIN)/workbench bench conflicts --data $(DATA) --json
	$(BIN)/workbench bench conflicts --data $(DATA) --vectors artifacts/conflicts.npz --json

screenshots: setup browser ## write pictures of every page to artifacts/
	$(BIN)/pytest -m screenshots

browser: setup ## make sure that there is a Chromium
	@.ci/browser $(BIN)/playwright

lock: ## write requirements.lock anew from pyproject.toml (LOCK=--upgrade for newer versions)
	$(PYTHON) -m venv $(LOCKER) && $(LOCKER)/bin/pip install --quiet uv
	$(LOCKER)/bin/uv pip compile --quiet --universal --generate-hashes --extra dev --custom-compile-command "make lock" $(LOCK) pyproject.toml -o requirements.lock

clean: ## remove what make made; stores are not touched
	rm -rf $(VENV) artifacts build dist .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis

$(READY): requirements.lock pyproject.toml
	@.ci/check-python $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)
