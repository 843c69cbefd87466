# Needs Python 3.11 and Java 17, nothing else. Every target sets up what it needs.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || echo python3)
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
READY := $(VENV)/.ready
KAFKA := $(VENV)/.kafka
# Installs packages of the lock: those of a name, or with ! all others. Modules are compiled when they are first imported: most never are.
locked = awk '/^[a-z]/ {wanted = $(3)/^($(1))==/} wanted' requirements.lock > $(VENV)/$(@F).lock && $(PIP) install --no-deps \
	--no-compile --require-hashes --no-build-isolation --use-pep517 $(2) -r $(VENV)/$(@F).lock
CONF ?= $(firstword $(wildcard lagoon.toml) conf/local.toml)
OUT ?= report.html
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
TWINE := .cache/twine/bin/twine
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One more than cores: a worker often waits for a server or a timeout.
WORKERS ?= $(shell echo $$(($(CORES) + 1)))
SIDE_BY_SIDE = --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder
WITH_SERVERS := cluster integration jobs oracle
PYTEST := $(BIN)/python -m pytest --ignore=tests/bench

# spark-submit and Spark's workers take the python3 that PATH has.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export SPARK_CONF_DIR := $(CURDIR)/conf
# Tests start hundreds of Python processes: each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# What the demo and tests need beside the environment is made with it, on the core that is idle by then.
WITH_KAFKA := $(if $(filter demo test proof proof-long bench $(KAFKA),$(MAKECMDGOALS)),kafka)

.PHONY: spark packages delta classes kernels kafka
.PHONY: help setup demo test quick proof proof-long lint types bench snapshot ingest restore maintain apply report lock clean
.PHONY: release release-ready release-date dist

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## the environment in .venv, with Delta for Spark; one to two minutes once
	@echo "Ready: .venv/bin/lagoon --help, or make demo"

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed and $(PYTHON) is not: make PYTHON=/path/to/python3.11"; exit 1; }
	@found=$$($(JAVA) -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p'); [ "$${found:-0}" -ge 17 ] || { \
		echo "Java 17 or newer is needed: $(JAVA) is $${found:-not there}; install it or set JAVA_HOME"; exit 1; }
	@echo "Making an environment in $(VENV), once"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@# What builds PySpark and us comes first, from the same lock: pip would fetch it unpinned. The pip that Python 3.11
	@# brings along takes twice the time for the rest.
	@$(call locked,pip|setuptools)
	@$(MAKE) --no-print-directory -j3 classes kernels $(WITH_KAFKA)
	@touch $@

spark: # half of the environment's bytes; its wheel is unpacked at once, so compressing it is in vain
	@echo "Installing PySpark"
	@$(call locked,pyspark,--config-settings=--build-option=--compression=stored)

packages:
	@echo "Installing the other packages"
	@$(call locked,pyspark,,!)
	@$(PIP) install --no-deps --no-build-isolation --editable .

delta: spark packages
	@echo "Adding Delta's jars to Spark"
	@$(BIN)/python -m kafka_lagoon.jars delta-4.4.0 > /dev/null

classes: delta # without them JVMs start more slowly, and that is all
	@echo "Archiving Java classes, from which Spark starts faster"
	-@$(BIN)/lagoon path classes > /dev/null

kernels: packages # without them the first fetch or ingest waits for them
	@echo "Compiling the decoder of records"
	-@$(BIN)/lagoon path kernels > /dev/null

kafka: $(if $(wildcard $(READY)),,delta)
	@echo "Fetching Kafka 4.4.0, and archiving its classes, once"
	@$(BIN)/python -m kafka_lagoon.jars kafka-4.4.0 > /dev/null
	-@$(BIN)/python -m kafka_lagoon.sandbox.archive
	@touch $(KAFKA)

$(KAFKA): pipeline/kafka_lagoon/jars/locks/kafka-4.4.0.lock | $(READY) # for the demo and for tests
	@[ $@ -nt $< ] || $(MAKE) --no-print-directory kafka

demo: $(READY) $(KAFKA) ## two snapshots and two ingests of a real three-broker Kafka, and what changed between them
	@$(BIN)/lagoon demo

test: $(READY) $(KAFKA) ## all tests but those of make proof: units, properties, Kafka's own codec, real brokers, Spark
	$(PYTEST) $(SIDE_BY_SIDE) -m "not proof" tests

quick: WORKERS = $(shell echo $$(($(CORES) + 4))) # its tests mostly wait for timeouts
quick: $(READY) ## units and properties, without brokers, Java, Spark and processes
	TEST_EXAMPLES=few $(PYTEST) $(SIDE_BY_SIDE) $(WITH_SERVERS:%=--ignore=tests/%) --without-processes -m "not kafka and not spark and not java and not long and not proof" tests

proof: $(READY) $(KAFKA) ## by hand: faults, deaths, older releases and every example, judged by others; figures into docs/proof.md
	@$(BIN)/python -m tests.tools
	$(BIN)/python -m tests.proof.everything

proof-long: $(READY) $(KAFKA) ## the same for hours, with a new seed
	@$(BIN)/python -m tests.tools
	$(BIN)/python -m tests.proof.everything --long

lint: $(READY) ## style, format, words, and which layer imports which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.words

types: $(READY) ## types of the product
	$(BIN)/mypy
	$(BIN)/mypy jobs

bench: $(READY) $(KAFKA) ## benchmarks against peers, as ratios of one run
	$(BIN)/python -m tests.bench

snapshot: $(READY) ## one snapshot of your cluster: make snapshot CONF=conf/local.toml
	$(BIN)/spark-submit jobs/snapshot.py --conf $(CONF)

ingest: $(READY) ## records since the last run: make ingest CONF=conf/local.toml
	$(BIN)/spark-submit jobs/ingest.py --conf $(CONF)

apply: $(READY) ## your cluster made what a file says: make apply FILE=state.toml CONF=conf/local.toml
	$(BIN)/spark-submit jobs/apply.py $(FILE) --conf $(CONF) --yes

restore: $(READY) ## archived topics put back: make restore TOPICS=orders FROM=prod TO=spare CONF=conf/local.toml
	$(BIN)/spark-submit jobs/restore.py --conf $(CONF) --from-cluster $(FROM) --to-cluster $(TO) --topics $(TOPICS) --yes

maintain: $(READY) ## small files joined, old ones removed: make maintain CONF=conf/local.toml
	$(BIN)/spark-submit jobs/maintain.py --conf $(CONF)

report: $(READY) ## one HTML page of your cluster, from the tables: make report OUT=report.html CONF=conf/local.toml
	$(BIN)/python jobs/report.py --conf $(CONF) --out $(OUT)

lock: ## requirements.lock renewed from pyproject.toml; needs uv
	printf 'pip\nsetuptools\n' | uv pip compile --quiet --upgrade --python-version 3.11 --universal \
		--generate-hashes --no-emit-index-url --no-header --extra all --extra demo --extra test --extra lint --output-file requirements.lock pyproject.toml -

release: ## a version: tests, CHANGELOG dated, and dist/ as twine accepts it; needs a clean tree
	@$(MAKE) --no-print-directory release-ready
	@$(MAKE) --no-print-directory lint types test
	@$(MAKE) --no-print-directory release-date dist
	@echo "To publish it: git commit -am 'Version $(VERSION)' && git tag -a v$(VERSION) -m 'Version $(VERSION)', then twine upload dist/*"

release-ready: # before hours of tests: refuses what would be refused after them
	@[ -z "$$(git status --porcelain)" ] || { echo "The tree has changes that are not committed:"; git status --short; exit 1; }
	@grep -q '^## $(VERSION) (unreleased)$$' CHANGELOG.md || { \
		echo "CHANGELOG.md has no section '## $(VERSION) (unreleased)': is the version in pyproject.toml the next one?"; exit 1; }

release-date:
	sed -i "s/^## $(VERSION) (unreleased)$$/## $(VERSION) ($$(date -u +%F))/" CHANGELOG.md

dist: $(READY) ## sdist and wheel in dist/, the wheel made from the sdist, both checked by twine
	rm -rf dist build
	$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_sdist("dist")' > /dev/null
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist dist/kafka_lagoon-$(VERSION).tar.gz
	[ -x $(TWINE) ] || { $(PYTHON) -m venv $(dir $(TWINE)).. && $(dir $(TWINE))pip --quiet install twine==6.2.0; }
	$(TWINE) check --strict dist/*

clean: ## away with the environment, the caches and the demo's tables
	rm -rf $(VENV) .cache build dist pipeline/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
