# Every command a developer or an operator needs; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# why: where it is set, every process of the tests would compile all that it imports of them anew
unexport PYTHONDONTWRITEBYTECODE
# What pip installs of Shoal, as pyproject.toml has it.
PACKAGES := shoal answers load_client wire worker_runtime node_agent controlplane
# Tests and type checks import the settings without an installation.
TEST_ENV := SHOAL_SECRET_KEY=test-only SHOAL_GATEWAY_TOKEN=test-only
PYTEST := $(BIN)/python -m pytest
# In CI, failed tests of whole products are asked once more, alone; which they were is written down.
PYTEST_AGAIN := $(BIN)/python -m tests.support.second_look tests/second_looks.txt
# Where fuzzing starts; empty is anywhere. `make test` starts at 1, .ci/run at a number of the tree:
# the same tree is told the same.
SEED ?=
# How long `make fuzz` looks, all targets together, of which two run at once; empty: the shares of
# tests/fuzz/catalog.py, four minutes.
FUZZ_SECONDS ?=
# How long `make api-fuzz` asks, in all.
API_FUZZ_SECONDS ?= 600
# How long `make prod-outage` takes control plane, broker and database away.
OUTAGE_S ?= 600

# Parts that keep one core busy, or wait: two at once. Each is told whole when it ends (GNU make 4 and
# newer), and one that fails fails all. Nothing that measures time or load belongs among them (docs/adr/0358).
SIDE_BY_SIDE := -j 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: help up install studio test check static lint types layers migrations frontend-check test-unit \
	test-studio test-pages test-chromium ui-budgets test-integration test-load test-frontends test-hostile chaos prod-test prod-outage test-chaos fuzz fuzz-corpora api-fuzz security helm test-postgres e2e screenshots \
	examples bench gpu gpu-install scale autoscale-sim rollout-sim autopilot why-slow compatibility \
	openapi cli-docs state-docs studio-texts sbom audit notebooks azure azure-oracle objectives-oracle seeds lock fmt clean

help: ## list the commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

up: install studio ## set up what is missing, then run everything until Ctrl-C
	@exec $(BIN)/shoal up

install: $(STAMPS)/package
	@# why: where bytecode is not written (PYTHONDONTWRITEBYTECODE, a replica's sandbox), each start would compile it all
	@$(BIN)/python -m compileall -q $(PACKAGES)

studio: $(STAMPS)/requirements
	@deploy/build-studio

test: ## set up and run every test, also on PostgreSQL and in a browser
	@$(MAKE) $(SIDE_BY_SIDE) $(STAMPS)/dev install studio
	@$(MAKE) static
	@$(MAKE) $(SIDE_BY_SIDE) test-unit test-chromium
	@$(MAKE) test-integration
	@$(MAKE) test-frontends
	@$(MAKE) test-load
	@$(MAKE) test-hostile
	@$(MAKE) test-chaos
	@$(MAKE) $(SIDE_BY_SIDE) fuzz api-fuzz API_FUZZ_SECONDS=120 SEED=$(or $(SEED),1)
	@$(MAKE) test-postgres
	@$(MAKE) e2e

check: $(STAMPS)/dev install ## lint, types, layers, unit tests, the studio's components in a browser
	@$(MAKE) static
	@$(MAKE) test-unit
	@$(MAKE) test-studio

static: $(STAMPS)/dev install ## lint, types, layers, migrations, the studio's own checks
	@$(MAKE) $(SIDE_BY_SIDE) types frontend-check lint layers migrations

lint: $(STAMPS)/dev
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMPS)/dev install
	@echo "== mypy"
	@$(TEST_ENV) $(BIN)/mypy

layers: $(STAMPS)/dev install
	@echo "== import-linter"
	@$(BIN)/lint-imports

migrations: $(STAMPS)/dev install
	@echo "== migrations"
	@$(TEST_ENV) $(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

frontend-check: $(STAMPS)/dev
	@echo "== studio: types, lint, unused code, unit tests"
	@deploy/build-studio --check

test-unit: $(STAMPS)/dev install ## unit and architecture tests
	@echo "== unit and architecture tests"
	@$(PYTEST) -q -n 2

test-studio: $(STAMPS)/dev ## the studio's components in a real browser
	@echo "== studio: components in Chromium"
	@deploy/build-studio --test-browser

test-chromium: ## the studio's pages, then its components: one browser at a time
	@$(MAKE) test-pages
	@$(MAKE) test-studio

test-integration: $(STAMPS)/dev install ## tests with real neighbours: Redis, Envoy, the runtime
	@echo "== integration tests"
	@# why whole files: those of one file share a runtime, a gateway, an installation; why three: they mostly wait
	@# why tests/gpu: what a CPU can run of them, so that they are right when they meet a card
	@SHOAL_GPU_TESTS=cpu $(PYTEST_AGAIN) -q -n 3 --dist loadfile --no-loadscope-reorder tests/integration tests/conformance tests/gpu

test-frontends: $(STAMPS)/dev install ## the whole conformance suite against runtimes with two front ends
	@echo "== conformance with two front ends"
	@SHOAL_TEST_FRONTENDS=2 $(PYTEST_AGAIN) -q -n 2 --dist loadfile tests/conformance

test-load: $(STAMPS)/dev install ## thousands of connections and requests, a hundred reloads
	@echo "== load"
	@$(PYTEST) -q tests/load

test-hostile: $(STAMPS)/dev install ## published attacks on the runtime, each beside a polite client; prints a table
	@echo "== hostile clients"
	@$(PYTEST) -q tests/hostile

chaos: $(STAMPS)/dev install ## hurt the whole product: nodes, broker, database, disks, networks; prints a table
	@echo "== chaos (about half an hour)"
	@$(PYTEST) -q --randomly-dont-reorganize tests/chaos

prod-test: $(STAMPS)/dev install ## the chart's pods as processes with networks of their own: killed, pulled, away, upgraded under load; prints a table
	@echo "== production without containers (about a quarter of an hour; needs root)"
	@$(BIN)/python -m tests.production

prod-outage: $(STAMPS)/dev install ## of these the longest: control plane, broker and database away for ten minutes under load
	@echo "== ten minutes without a control plane (about a quarter of an hour; needs root)"
	@PROD_TEST_OUTAGE_S=$(OUTAGE_S) $(BIN)/python -m tests.production \
		tests/production/test_production_outage.py -k all_of_the_control_plane

test-chaos: $(STAMPS)/dev install ## the most valuable cases of make chaos, in a few minutes
	@echo "== chaos, the short share"
	@$(PYTEST) -q --randomly-dont-reorganize tests/chaos -m quick

fuzz: $(STAMPS)/dev install ## fuzz parsers, protocols, the verdict on code, lying nodes, the gateway's Lua: four minutes, or FUZZ_SECONDS=N
	@echo "== fuzzing"
	@$(BIN)/python -m tests.fuzz $(if $(FUZZ_SECONDS),--seconds $(FUZZ_SECONDS)) $(if $(SEED),--seed $(SEED))

fuzz-corpora: $(STAMPS)/dev install ## keep what `make fuzz` found for later runs: few inputs that reach all that it did
	@$(BIN)/python -m tests.fuzz.corpora

api-fuzz: $(STAMPS)/dev install ## Schemathesis against the REST API with each role; API_FUZZ_SECONDS=600 in all
	@echo "== fuzzing the API"
	@$(BIN)/python -m tests.api_fuzz --seconds $(API_FUZZ_SECONDS) $(if $(SEED),--seed $(SEED))

security: $(STAMPS)/dev install studio ## attack a fresh installation: logins, roles, hostile uploads and models; prints a table
	@echo "== security"
	@$(BIN)/python -m tests.security

helm: $(STAMPS)/dev install ## the chart for Kubernetes: lint, render five sets of values, validate against the API, package
	@echo "== chart for Kubernetes"
	@$(PYTEST) -q -n 0 tests/unit/deploy/test_helm_chart.py tests/unit/deploy/test_helm_programs.py
	@$(BIN)/python -m tests.support.helm_report "$(CURDIR)/.build/helm"

test-postgres: $(STAMPS)/dev install ## the control plane's tests that use a database, on PostgreSQL
	@echo "== control plane on PostgreSQL"
	@$(BIN)/python deploy/with_postgres.py $(PYTEST) -q -n 2 --dist loadfile --only-database \
		tests/unit/controlplane tests/integration/controlplane --ignore tests/integration/controlplane/gateway

e2e: $(STAMPS)/dev install studio ## the whole product with a real browser
	@echo "== end to end"
	@# why three on two cores: each has a product of its own, and mostly waits for it
	@$(PYTEST_AGAIN) -q -n 3 --dist loadfile --no-loadscope-reorder tests/e2e

ui-budgets: $(STAMPS)/dev ## what the studio costs: size, time per tick, long logs and lists, memory over hours
	@deploy/build-studio --budgets
	@$(PYTEST) -q -rP --no-header tests/unit/controlplane/overview/test_overview_glance.py -k frame_of_a_large

screenshots: $(STAMPS)/requirements ## every page of the studio, light, dark and as narrow as a phone, into .build/screenshots
	@echo "== every page of the studio"
	@deploy/build-studio --pictures "$(CURDIR)/.build/screenshots"

test-pages: screenshots ## the same: axe and the console have nothing to say, and no page is wider than its window

examples: $(STAMPS)/dev install ## every example on a fresh installation, checked against its library
	@$(BIN)/python examples/run_all.py

notebooks: $(STAMPS)/dev install studio ## every notebook of examples/notebooks, against a fresh installation
	@$(PYTEST) -q tests/e2e/test_notebooks.py

autoscale-sim: $(STAMPS)/dev install ## the autoscaler against 1,000 made loads: oscillations (none), too many and too few replicas
	@$(BIN)/python -m benchmarks.autoscale_sim

rollout-sim: $(STAMPS)/dev install ## rollouts of good and bad versions, 1,000 seeds each, against their bars: caught in time, wrongly withdrawn
	@$(BIN)/python -m benchmarks.rollout_sim

autopilot: $(STAMPS)/dev install ## scaling, waking, rollouts, alerts, drift live on a fresh installation, each figure beside its bar; eight minutes
	@$(BIN)/python -m tests.autopilot $(CASES)

why-slow: $(STAMPS)/dev install ## twelve endpoints that are slow for one reason each, and what `shoal why-slow` says of them; five minutes
	@$(BIN)/python -m tests.why_slow

scale: $(STAMPS)/dev install ## the control plane on PostgreSQL beside 1,000 simulated nodes and 2,000 replicas, against its bars
	@$(BIN)/python deploy/with_postgres.py $(BIN)/python -m tests.scale

bench: $(STAMPS)/dev install ## workloads M0 to M3 against the bare ONNX Runtime limit; what Python models and the gateway cost
	@$(BIN)/python -m benchmarks

gpu-install: ## what `make gpu` needs; from then on it needs no network
	@deploy/needs-gpu
	@$(MAKE) $(STAMPS)/gpu install

gpu: gpu-install ## on a machine with a GPU: its tests, its benchmark, and the measured part of docs/gpu.md
	@echo "== tests on the GPU, then models on it (about ten minutes)"
	@# why both in any case: hours on a GPU are few
	@$(PYTEST) -q tests/gpu -m gpu; tests=$$?; \
		$(BIN)/python -m benchmarks.gpu --docs docs/gpu.md && exit $$tests

compatibility: $(STAMPS)/dev install ## regenerate docs/triton-compatibility.md
	@$(BIN)/python -m tests.conformance.compatibility

openapi: $(STAMPS)/dev install ## regenerate docs/openapi.json, which the studio's types are made of
	@$(TEST_ENV) $(BIN)/python manage.py spectacular --format openapi-json --file docs/openapi.json --validate

lock: $(STAMPS)/dev ## regenerate the lock files from requirements*.txt
	@$(BIN)/python deploy/lock.py

fmt: $(STAMPS)/dev ## format the code
	@$(BIN)/ruff check --fix-only --quiet . || true
	@$(BIN)/ruff format .
	@deploy/build-studio --format

cli-docs: $(STAMPS)/dev install ## regenerate the reference in docs/cli.md
	@$(BIN)/python -m shoal.cli.reference docs/cli.md

state-docs: $(STAMPS)/dev install ## regenerate the tables in docs/states.md
	@$(BIN)/python -m controlplane.config.state_tables docs/states.md

studio-texts: $(STAMPS)/dev install ## list the server's fixed texts for the studio's catalogues
	@$(BIN)/python -m controlplane.config.studio_texts frontend/src/i18n/server-texts.ts

sbom: $(STAMPS)/audit install ## bills of materials (CycloneDX) into .build/sbom
	@.venv-audit/bin/python deploy/sbom.py .build/sbom

audit: $(STAMPS)/audit install ## ask the advisories about every package: docs/audits.md (needs the network)
	@.venv-audit/bin/python deploy/audits.py docs/audits.md

azure-oracle: ## ask the real azure-ai-ml anew: tests/support/azure_yaml, and its names
	@$(PYTHON) -m venv .venv-azure
	@deploy/install-packages .venv-azure/bin/python requirements-azure.lock
	@.venv-azure/bin/python tests/support/azure_yaml/oracle.py > tests/support/azure_yaml/answers.json
	@.venv-azure/bin/python tests/support/azure_yaml/surface.py > tests/support/azure_yaml/surface.json

PROMETHEUS := .build/prometheus
objectives-oracle: $(STAMPS)/dev install ## ask a real Prometheus anew for burn rates: tests/support/promql (Debian's package is unpacked, not installed)
	@mkdir -p $(PROMETHEUS)
	@test -x $(PROMETHEUS)/usr/bin/promtool || (cd $(PROMETHEUS) && apt-get download prometheus && dpkg -x prometheus_*.deb .)
	@$(BIN)/python -m tests.support.promql.oracle $(PROMETHEUS) > $(PROMETHEUS)/answers.json
	@mv $(PROMETHEUS)/answers.json tests/support/promql/answers.json

azure: $(STAMPS)/dev install ## the genuine azure-ai-ml's flow against a fresh installation; each call is printed
	@test -x .venv-azure/bin/python || $(PYTHON) -m venv .venv-azure
	@deploy/install-packages .venv-azure/bin/python requirements-azure.lock
	@$(BIN)/python -m tests.azure $(if $(RECORD),--record $(RECORD))

seeds: $(STAMPS)/dev install studio ## the first seed's tabs, as users of Azure ML write them
	@$(BIN)/python -m tests.seeds

# why torch is removed first: for uv and pip, the build for CPUs that may be there is the same version.
$(STAMPS)/gpu: requirements-cuda.lock $(STAMPS)/dev
	@echo "== PyTorch with the libraries of CUDA (some GB)"
	@$(BIN)/python -c 'import torch, sys; sys.exit(torch.version.cuda is None)' || \
		$(BIN)/python -m pip uninstall --yes --quiet torch
	@deploy/install-packages $(BIN)/python requirements-cuda.lock
	@touch $@

$(STAMPS)/audit: requirements-audit.txt $(STAMPS)/requirements
	@$(PYTHON) -m venv .venv-audit
	@deploy/install-packages .venv-audit/bin/python requirements-audit.lock
	@touch $@

clean: ## remove what was built; data in .shoal stays
	rm -rf frontend/dist frontend/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	rm -rf $(VENV)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed: '$(PYTHON)' was not found. Set PYTHON=/path/to/python3." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Set PYTHON=/path/to/python3." >&2; exit 1; }
	@echo "== virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "python3 could not make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }

# why order-only: pip rewrites links below .venv/bin, which must not make the stamps look old.
$(STAMPS)/requirements: requirements.lock requirements-cpu.lock requirements-cuda.lock | $(BIN)/python
	@echo "== Python packages (the first time this takes some minutes)"
	@deploy/install-packages $(BIN)/python requirements.lock
	@deploy/build-studio --node
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/package: pyproject.toml $(STAMPS)/requirements
	@echo "== shoal itself"
	@# why no isolation: what builds it comes from the lock, too
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@touch $@

# why after the package: pip shares the environment with no other pip, while the studio is built beside it.
$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/requirements | $(STAMPS)/package
	@echo "== development packages"
	@deploy/install-packages $(BIN)/python requirements-dev.lock
	@touch $@
