# Every target runs through tools/bootstrap.py, which creates the locked Python environment first.
PYTHON ?= python3
ENGINE ?= muster
NAME ?= $(or $(MUSTER_NAME),local)
run = $(PYTHON) tools/bootstrap.py

.DEFAULT_GOAL := help
.PHONY: help up apply down status env logs scenario drift tools check test flakes coverage conformance fidelity bench bench-kueue fuzz fuzz-fields storm preview adopt forecast plan golden docs facts fields screenshot lint format lock release

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 13

up: ## a whole environment on this machine, with its scenarios (ENGINE=muster|kueue|kai SCENARIO=jobs|serving|elastic|training|no RAY=real NODES=real FRESH=1)
	@$(run) sandbox up --engine $(ENGINE) --name $(NAME) $(if $(FRESH),--fresh) $(if $(RAY),--ray $(RAY)) $(if $(NODES),--nodes $(NODES)) \
		$(if $(filter no,$(SCENARIO)),--no-scenario,$(if $(SCENARIO),--scenario $(SCENARIO)))

apply: ## show the plan of the current stacks/Pulumi.local.yaml, and deploy it (NAME=local)
	@$(run) sandbox apply --name $(NAME)

status: ## its queues, workloads, nodes and processes (NAME=local)
	@$(run) sandbox status --name $(NAME)

env: ## its kubectl and pulumi, and the package's muster, for this shell: eval "$(make env)" (NAME=local)
	@$(run) sandbox env --name $(NAME)

logs: ## the log of one of its processes (PROCESS=controller FOLLOW=1 LINES=100 NAME=local)
	@$(run) sandbox logs --name $(NAME) $(if $(PROCESS),--process $(PROCESS)) $(if $(FOLLOW),--follow) \
		$(if $(LINES),--lines $(LINES))

scenario: ## play the scenarios again in it (SCENARIO=jobs|serving|elastic|training NAME=local)
	@$(run) sandbox scenario --name $(NAME) $(if $(SCENARIO),--scenario $(SCENARIO))

down: ## stop it and all its processes (NAME=local)
	@$(run) sandbox down --name $(NAME)

drift: ## changes made by hand in it, or in a deployed stack; FIX=1 reverts them (NAME=local|STACK=prod JSON=file)
	@$(run) $(if $(STACK),drift $(STACK),sandbox drift --name $(NAME)) $(if $(FIX),--fix) $(if $(JSON),--json $(JSON))

tools: ## find, download or build every tool (MUSTER_TOOLS=build|download)
	@$(run) sandbox tools --all

check: ## before each commit, in seconds: lint, types, import contracts, fast unit tests
	@$(run) tools check

test: ## lint, types, unit, previews, simulation, end to end (LAYER=unit for one)
	@$(run) tools test $(LAYER)

flakes: ## layers in random order on a busy machine; names unreliable tests (TIMES=5 LAYER=unit SEED=1)
	@$(run) tools flakes $(LAYER) $(if $(TIMES),--times $(TIMES)) $(if $(SEED),--seed $(SEED))

coverage: ## branch coverage of muster/admission by its unit tests; less than 100% is an error
	@$(run) tools coverage

conformance: ## the core against Kueue: its own cases (CASES=DIR), or random histories (SEEDS=200 SEED_BASE=0)
	@$(run) tests.conformance $(if $(CASES),--cases $(CASES)) $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(SEED_BASE),--seed-base $(SEED_BASE)) $(if $(SUITE),--suite $(SUITE))

fuzz: ## random histories in the simulation (HISTORIES=2000 SEED=0 FAILURES=1); REPLAY=file repeats one
	@$(run) tests.simulation.histories $(if $(HISTORIES),--histories $(HISTORIES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(FAILURES),--failures $(FAILURES)) $(if $(REPLAY),--replay $(REPLAY))

fuzz-fields: ## random Ray objects of a tenant in a sandbox, every field of their schema (SEED=0 OBJECTS=60|MINUTES=5 REPLAY=file)
	@$(run) tests.field_fuzzing $(if $(OBJECTS),--objects $(OBJECTS)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(REPLAY),--replay $(REPLAY))

storm: ## kills, pauses, black holes, restarts and deletions on a real API server, or of real nodes and pods (MINUTES=5 SEED=0 NODES=real)
	@$(run) tests.storm $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(if $(NODES),--nodes $(NODES))

bench: ## measure up, previews, admission and the controller
	@$(run) tests.bench

bench-kueue: ## Kueue's own performance harness with Kueue and with Muster (CONFIG=small|burst|baseline|large-scale|tas TIMES=1 PROFILE=1)
	@$(run) tests.bench.kueue_harness $(if $(CONFIG),--config $(CONFIG)) $(if $(TIMES),--times $(TIMES)) \
		$(if $(PROFILE),--profile)

adopt: ## print the import file of a cluster that Terraform or gcloud made (STACK=dev WITHOUT="names of what to create")
	@$(run) preview.import_file $(or $(STACK),$(error name the stack: make adopt STACK=dev)) \
		$(if $(WITHOUT),--without $(WITHOUT))

forecast: ## waits before and after an example's pull request, with a page of charts (CHANGE=patch STACK=prod DAYS=7 SEEDS=20)
	@$(run) tools compiled muster plan --stack $(or $(STACK),prod) --change $(or $(CHANGE),examples/forecast/fewer-l4s.patch) \
		--days $(or $(DAYS),7) --html .muster/forecast.html $(if $(SEEDS),--seeds $(SEEDS))
	@echo "page: .muster/forecast.html"

plan: ## what the stack file's changes since a git ref do to waits (STACK=prod BASE=main SEEDS=20 MARKDOWN=file)
	@$(run) muster plan --stack $(or $(STACK),prod) --base $(or $(BASE),main) --html .muster/plan.html \
		$(if $(SEEDS),--seeds $(SEEDS)) $(if $(MARKDOWN),--markdown $(MARKDOWN)) || test $$? = 4

fidelity: ## forecasts next to Muster's controller and the real Kueue (AGAINST=muster|kueue|kueue-baseline JOBS=100 CASE=cohort PACE=30)
	@$(run) tests.fidelity $(if $(AGAINST),--against $(AGAINST)) $(if $(JOBS),--jobs $(JOBS)) \
		$(if $(CASE),--case $(CASE)) $(if $(PACE),--pace $(PACE))

preview: ## pulumi preview of a stack, offline (STACK=dev, SINCE=main, MARKDOWN=comment.md, PLUGINS=installed)
	@$(run) preview $(or $(STACK),$(error name the stack: make preview STACK=dev)) \
		$(if $(SINCE),--since $(SINCE)) $(if $(MARKDOWN),--markdown $(MARKDOWN)) \
		$(if $(filter installed,$(PLUGINS)),--installed)

golden: ## accept the current plans of all stacks (tests/stacks/golden)
	@$(run) preview.golden

docs: ## write generated docs: references of settings, their rules, fields of Ray, metrics, commands and roles, Grafana dashboards, tables of drift, package/schema.json, diagrams
	@$(run) tools docs
	@$(run) drift.reference

facts: ## tables of Google Cloud's facts with their age; compare with and update from public data (FILE=machines.json|vms.csv WRITE="source")
	@$(run) settings.facts.update $(FILE) $(if $(WRITE),--write "$(WRITE)") $(if $(DATE),--date $(DATE))

fields: ## record the fields of the pinned KubeRay's CRDs; each needs a row in components/admission/fields/fields.toml
	@$(run) tools fields

screenshot: ## docs/pictures: the page that make forecast wrote, and the page of an example cluster, in a real browser
	@$(run) tests.browser.screenshot .muster/forecast.html docs/pictures/forecast.png
	@$(run) tests.browser.live_screenshot docs/pictures/page.png

lint: ## ruff, mypy, import contracts, English and names
	@$(run) tools test lint

format: ## ruff format and fixes
	@$(run) tools format

lock: ## resolve the dependencies of pyproject.toml into the lock files, with hashes
	@$(run) tools lock

release: ## build wheel, Pulumi package, image recipe, SBOM and checksums of HEAD into dist/ (RELEASE.md)
	@$(run) tools release
