# Needs a Python ≥ 3.11 and make; everything else is brought along, into .tools/ (uv) and .venv/ (lightsched).
# `make` alone lists the commands.

# A Python that somebody compiled by hand (pyenv's, say) is seldom an optimised build, and takes a third more CPU for all that
# lightsched does: then the distribution's own serves, if it is new enough. `make PYTHON=…` has the last word.
PYTHON ?= $(shell for each in python3 /usr/bin/python3; do "$$each" -c $(SERVES) 2>/dev/null && echo "$$each" && exit; done; echo python3)
SERVES := 'import sys, sysconfig as s; sys.exit(sys.version_info < (3, 11) \
	or "--enable-optimizations" not in (s.get_config_var("CONFIG_ARGS") or "") and not sys.executable.startswith("/usr/bin/"))'
UV_VERSION := 0.13.7
WORKERS ?= 2
EXAMPLES ?= 5000
KILLS ?= 100
SECONDS ?= 60
SEED ?= 1
EVENTS ?= 10000
ARGS ?=

UV := .tools/bin/uv
BIN := .venv/bin
READY := .venv/.ready
# Faust wants an older click than lightsched: executors/faust has an environment and a lock of its own.
FAUST := executors/faust
MEMBERS := $(filter-out $(FAUST),$(patsubst %/pyproject.toml,%,$(wildcard injectors/*/pyproject.toml executors/*/pyproject.toml)))
PYTEST := $(BIN)/python -m pytest $(ARGS)

# The machine's Python or none: uv must not fetch one of its own.
export UV_PYTHON_DOWNLOADS := never
export UV_NO_PROGRESS := 1
# uv does not read pip's settings; whoever told pip about an index means uv as well.
USE_INDEX = index="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$(.tools/bin/pip config get global.index-url 2>/dev/null || true)}}"; \
	if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi

.DEFAULT_GOAL := help
.PHONY: help setup run test check lint programs format simulate mutants crash chaos chaos-files chaos-executors kafka \
	bench bench-hostile bench-files bench-kafka bench-executors bench-restarts schema docs lock faust clean
.DELETE_ON_ERROR:

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## set up .venv: afterwards .venv/bin/lightsched is the command

run: setup ## start lightsched on this machine, nothing else needed
	$(BIN)/lightsched dev $(ARGS)

test: setup lint programs faust ## lint, then all tests but the long ones
	$(PYTEST) -n $(WORKERS) -m "not slow"

check: setup lint ## quick: lint and unit tests
	$(PYTEST) -n $(WORKERS) -m "not slow" tests/unit

lint: setup ## ruff and mypy, changing nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# What the tests start besides Python: installed where it is missing, and where that is allowed.
programs: setup
	@$(BIN)/python -m tests.programs

format: setup ## put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

simulate: setup ## long simulation on a virtual clock (EXAMPLES=5000)
	LIGHTSCHED_TEST_SIM_EXAMPLES=$(EXAMPLES) $(PYTEST) -n $(WORKERS) --timeout=0 tests/simulation

mutants: setup ## break the heart on purpose, and see that the tests notice
	$(BIN)/python tests/mutants/run.py $(ARGS)

crash: setup ## kill -9 a server under load, many times (KILLS=100)
	LIGHTSCHED_TEST_CRASH_KILLS=$(KILLS) $(PYTEST) --timeout=0 tests/chaos

kafka: setup ## start a Kafka broker to play with
	$(BIN)/python -m tests.broker $(ARGS)

chaos: setup ## nodes on Kafka, and everything that can go wrong (SECONDS=60 SEED=1 ARGS="--seeds 10 --brokers 3")
	$(BIN)/python -m tests.chaos.kafka.run --seconds $(SECONDS) --seed $(SEED) $(ARGS)

chaos-files: setup ## kill -9 the file watcher while files are dropped, through REST and Kafka (ARGS="--kills 30")
	$(BIN)/python -m tests.injectors.files.chaos $(ARGS)

chaos-executors: setup ## kill -9 executors and nodes during tracked runs on Kafka (EVENTS=10000 SEED=1)
	$(BIN)/python -m tests.chaos.executors.run --events $(EVENTS) --seed $(SEED) $(ARGS)

bench: setup ## measure, beside the limits of the machine
	$(BIN)/python -m benchmarks.run $(ARGS)

bench-hostile: setup ## thousands of slow, broken and hostile clients: who is late? (ARGS="--clients 500 --seconds 5")
	$(BIN)/python -m benchmarks.hostile $(ARGS)

bench-kafka: setup ## measure on Kafka, beside Kafka Streams
	$(BIN)/python -m benchmarks.kafka.run $(ARGS)

bench-files: setup ## measure from file to topic, beside a bare producer
	$(BIN)/python -m benchmarks.files $(ARGS)

bench-executors: setup ## measure what an executor does on Kafka, beside bare aiokafka, and round trips
	$(BIN)/python -m benchmarks.kafka.executors $(ARGS)

bench-restarts: setup ## time restarts, rebuilds, a rolling restart and a takeover on Kafka
	$(BIN)/python -m benchmarks.kafka.restarts $(ARGS)

schema: setup ## write docs/schema/*.json and docs/asyncapi.json from the model
	$(BIN)/python -m lightsched.event.schema

docs: setup ## write docs/cli.md from the commands' help, and record the session in the README anew
	$(BIN)/python -m lightsched.cli.page
	$(BIN)/python -m tests.docs.session

lock: $(UV) ## choose versions anew (one package: ARGS="--upgrade-package NAME", all: ARGS=--upgrade)
	@$(USE_INDEX); $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --group dev \
		--no-emit-package lightsched $(foreach m,$(MEMBERS),--no-emit-package lightsched-$(notdir $m)) \
		--custom-compile-command "make lock" $(ARGS) \
		--output-file requirements.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS))
	@$(USE_INDEX); $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--custom-compile-command "make lock" $(ARGS) --output-file $(FAUST)/requirements.lock $(FAUST)/pyproject.toml

faust: .venv-faust/.ready ## set up .venv-faust, where the Faust executor runs

clean: ## remove everything that was made here
	rm -rf .tools .venv .venv-faust .hypothesis .mypy_cache .pytest_cache .ruff_cache .schemathesis .coverage* dist
	rm -rf examples/languages/java/target examples/languages/go/bin examples/languages/node/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml requirements.lock $(addsuffix /pyproject.toml,$(MEMBERS)) $(UV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		$(UV) venv --quiet --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
	@echo "Setting up .venv with $$($(BIN)/python -c 'import sys; print("Python %d.%d.%d of %s" % (*sys.version_info[:3], sys.base_prefix))') …"
	@$(USE_INDEX); $(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . $(addprefix --editable ,$(MEMBERS))
	@touch $@

.venv-faust/.ready: $(FAUST)/pyproject.toml $(FAUST)/requirements.lock $(READY)
	@echo "Setting up .venv-faust …"
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-faust
	@$(USE_INDEX); $(UV) pip sync --quiet --python .venv-faust/bin/python --require-hashes $(FAUST)/requirements.lock
	@echo "$(CURDIR)/$(FAUST)/src" > "$$(.venv-faust/bin/python -c 'import site; print(site.getsitepackages()[0])')/lightsched_faust.pth"
	@touch $@

$(UV):
	@command -v $(PYTHON) >/dev/null || \
		{ echo "No $(PYTHON) here: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$$($(PYTHON) --version) is too old, lightsched needs 3.11: name a newer one, as in make PYTHON=python3.12" >&2; exit 1; }
	@rm -rf .tools; $(PYTHON) -m venv .tools >/dev/null 2>&1 || python3 -m venv --clear .tools || \
		{ rm -rf .tools; echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@.tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@
