# Every target runs through sandbox/bootstrap.py, which makes the locked Python environment first.
PYTHON ?= python3
ENGINE ?= muster
NAME ?= local
sandbox = $(PYTHON) sandbox/bootstrap.py

.DEFAULT_GOAL := help
.PHONY: help up down status tools test bench preview lint format lock

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

up: ## a whole environment on this machine, and the scenario (ENGINE=muster|kueue, NAME=local)
	@$(sandbox) up --engine $(ENGINE) --name $(NAME)

down: ## stop it, leave nothing running (NAME=local)
	@$(sandbox) down --name $(NAME)

status: ## its queues, workloads, nodes and processes (NAME=local)
	@$(sandbox) status --name $(NAME)

tools: ## find or build every tool that a sandbox runs
	@$(sandbox) tools --all

test: ## lint, types, unit, previews, simulation, end to end (LAYER=unit for one)
	@$(sandbox) test $(LAYER)

bench: ## measure up, previews, admission and the controller
	@$(sandbox) bench

preview: ## pulumi preview of a stack, offline (STACK=dev)
	@$(sandbox) preview $(or $(STACK),$(error say which: make preview STACK=dev))

lint: ## ruff, mypy, import contracts
	@$(sandbox) test lint

format: ## ruff format and fixes
	@$(sandbox) format

lock: ## resolve requirements*.in anew into their lock files, with hashes
	@$(sandbox) lock
