# Needs Python 3.11+ and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# Bytecode is kept, outside of the sources.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
# Tests and their child processes share the machine code of the kernels.
TESTED := NUMBA_CACHE_DIR=$(CURDIR)/build/kernels
PYTEST := $(TESTED) $(BIN)/python -m pytest -n $(WORKERS)
# Reward models other than the default, with policies that need all kernels of a model.
WORLDS := beta categorical gaussian gaussian-unknown-noise poisson
POLICIES := ids-n v-ids-n ts-n-sampled bayes-ucb

.PHONY: reproduce quick test nightly bench peers clean

reproduce: .venv/run.done
	$(BIN)/graphbandits reproduce --output figures $(ARGS)

# The cheap tests: those that are not in tests/costs.json.
quick: build/kernels.done
	$(PYTEST) -m "not costly and not nightly"

test: build/kernels.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(PYTEST) -m "not nightly"

# Everything; then the file of costs, and how many of 200 random faults the tests notice.
nightly: build/kernels.done
	CPU_LOG=build/cpu PYTHONPATH=tests/tools $(PYTEST) -p costs
	$(BIN)/python tests/tools/costs.py build/cpu.*.jsonl
	$(BIN)/python tests/tools/mutate.py sample --n 200 --seed $$(date +%Y%m%d) --out build/mutants.json
	rm -f build/mutants.result.json
	$(TESTED) $(BIN)/python tests/tools/mutate.py run build/mutants.json \
		--out build/mutants.result.json --jobs $(WORKERS) --stages 123

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

build/kernels.done: $(wildcard src/graphbandits/*kernels.py src/graphbandits/*/*kernels.py) | .venv/dev.done
	@mkdir -p build
	@echo "Compiling the kernels into build/kernels, which takes about a minute ..."
	@$(TESTED) $(BIN)/graphbandits precompile >build/precompile.log & \
	$(TESTED) $(BIN)/graphbandits precompile $(WORLDS:%=--worlds %) $(POLICIES:%=--policies %) >/dev/null && \
	$(TESTED) $(BIN)/graphbandits graph ring --arms 41 >/dev/null && \
	wait $$! || (cat build/precompile.log; exit 1)
	@touch $@

clean:
	rm -rf .venv figures build *.egg-info src/*.egg-info
