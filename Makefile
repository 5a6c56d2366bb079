# Needs Python 3.11+ and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# Bytecode is kept, outside of the sources.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
UNMARKED := not process and not browser and not mutant and not statistical and not oracle and not slow

.PHONY: reproduce quick test slow bench peers clean

reproduce: .venv/run.done
	$(BIN)/graphbandits reproduce --output figures $(ARGS)

test: .venv/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

# Everything unmarked: no processes, browsers, mutants, statistics, oracles or long simulations.
quick: .venv/dev.done
	$(BIN)/python -m pytest -n $(WORKERS) -m "$(UNMARKED)"

slow: .venv/dev.done
	$(BIN)/python -m pytest -m slow

bench: .venv/dev.done
	$(BIN)/python benchmarks/run.py $(ARGS)

# Public alternatives, installed into build/peers, on the same simulated worlds.
peers: .venv/dev.done
	$(BIN)/python benchmarks/peers.py $(ARGS)

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("graphbandits needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv .venv

.venv/run.done: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/dev.done: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@ .venv/run.done

clean:
	rm -rf .venv figures build *.egg-info src/*.egg-info
