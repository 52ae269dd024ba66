# Every target sets up what it needs, in .venv, .environments and .docs. `make help` lists targets from the lines that begin with ##.
PYTHON ?= python3
CONFIG ?= config/quick.yaml
SNAKEMAKE = $(shell grep -hoE 'snakemake==[^ ]+' envs/workflow.yaml)
OPTIONS = --configfile '$(CONFIG)' --config
# Settings that replace those of the configuration: make report SET='corpus={path: /folder}' (quote the whole value)
ifdef SET
OPTIONS += '$(SET)'
endif

# Delays Ctrl-C until the interpreter has started and can handle it (GNU env).
KEPT = $(shell env --block-signal=INT true 2>/dev/null && echo env --block-signal=INT)
# Runs a command of scripts/commands. Those that start Snakemake end when make ends (--parent).
RUN = @exec $(KEPT) .venv/bin/python scripts

# A line of a recipe that says how to use the target if a variable has no value.
needs = $(if $(strip $($(1))),,@echo "$(1) is not given: $(2)"; exit 2)

# Many images set this. Every process would then compile every module it imports: 3 s for TensorFlow.
unexport PYTHONDONTWRITEBYTECODE
# All files here are UTF-8, whatever the locale.
export PYTHONUTF8 = 1

.DEFAULT_GOAL = report
.PHONY: help report cell measure wheels plan html bump history court compare profile noise export pack accept lock prune pages example example-pages docs test check test-contract test-workflow test-faults fuzz audit format clean

## List these targets
help:
	@awk '/^## / {about = about "\n      " substr($$0, 4)} /^[a-z-]+:/ && about {print "make " substr($$1, 1, index($$1, ":") - 1) about} !/^## / {about = ""}' Makefile

## Measure with the quick protocol and render all pages: results/report/index.html
report: .venv/ready
	$(RUN) run_workflow --parent $$PPID $(OPTIONS)

## Benchmark your own recurrent cell: make cell CELL=my_cell.py [SHAPE='{batch: 32, length: 200}'] [PHASES=training]
## [FRAMEWORKS='pytorch jax'] (docs/how-to/own-cell.md)
cell: .venv/ready
	$(RUN) run_cell --parent $$PPID $(if $(SHAPE),--shape '$(SHAPE)') $(if $(PHASES),--phases '$(PHASES)') \
		$(if $(FRAMEWORKS),--frameworks '$(FRAMEWORKS)') \
		$(if $(filter file,$(origin CONFIG)),,--configfile '$(CONFIG)') $(if $(SET),--config '$(SET)') -- '$(CELL)'

## Measure and pack records without pages, for a machine without network: make measure CONFIG=lab.yaml [LIMIT=540 seconds]
measure: .venv/ready
	$(RUN) run_workflow --parent $$PPID --measure $(if $(LIMIT),--limit $(LIMIT)) $(OPTIONS)

FOR ?= $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
## Download what `make measure` needs on a machine without network: make wheels FOR=3.12, its Python version
wheels:
	$(PYTHON) -m pip wheel --quiet --wheel-dir wheels pip $(SNAKEMAKE)
	ls wheels | grep -v -e none-any -e abi3 | sed 's/\([^-]*\)-\([^-]*\)-.*/\1==\2/' | sort -u \
	| xargs $(PYTHON) -m pip download --quiet --dest wheels --no-deps --only-binary :all: --python-version $(FOR)
	ls wheels | grep -v -e none-any -e abi3 -e -cp$(subst .,,$(FOR))- | sed 's|^|wheels/|' | xargs rm -f

## Say what is missing and how long it will take: make plan [CONFIG=config/config.yaml] [FILES=1 lists results]
plan: .venv/ready
	$(RUN) plan_run $(if $(FILES),--files) $(OPTIONS)

## List results that no configuration asks for, delete them with YES=1: make prune [YES=1]
prune: .venv/ready
	$(RUN) prune_results $(if $(YES),--yes) $(OPTIONS)

## Write Snakemake's own report to report.html, after make report
html: report
	.venv/bin/snakemake --report report.html --configfile '$(CONFIG)' $(if $(SET),--config '$(SET)')

## Try another version and compare: make bump PIN=torch==2.14.0 [FROM=version] [IN=environment] [ROWS='names'] [AGAIN=1]
## [SHAPE='{cell: gru, batch: 1, length: 1, hidden: 256}'] [RELEVANT=3 percent] [FAIL=1] (docs/how-to/new-version.md)
bump: .venv/ready
	$(RUN) bump_version '$(PIN)' --parent $$PPID $(if $(FROM),--from '$(FROM)') $(if $(IN),--in $(IN)) \
		$(if $(ROWS),--rows '$(ROWS)') $(if $(AGAIN),--again) $(if $(SHAPE),--shape '$(SHAPE)') $(if $(RELEVANT),--relevant $(RELEVANT)) \
		$(if $(FAIL),--fail) $(OPTIONS)

## Measure a package's releases one after the other: make history PACKAGE=onnxruntime SINCE=1.18 [IN=environment] [ROWS='names']
## [SHAPE='{cell: gru, batch: 1, length: 1, hidden: 256}'] [RELEVANT=3 percent] (docs/how-to/new-version.md)
history: .venv/ready
	$(RUN) history '$(PACKAGE)' --parent $$PPID --since '$(SINCE)' $(if $(IN),--in $(IN)) $(if $(ROWS),--rows '$(ROWS)') \
		$(if $(SHAPE),--shape '$(SHAPE)') $(if $(RELEVANT),--relevant $(RELEVANT)) $(OPTIONS)

## Check every implementation of an environment on unusual shapes: make court ENVIRONMENT=pytorch [ROWS='pytorch/*'] [RANDOM=4] [SEED=0]
court: .venv/ready
	$(RUN) court '$(ENVIRONMENT)' --parent $$PPID $(if $(ROWS),--rows '$(ROWS)') $(if $(RANDOM),--random $(RANDOM)) \
		$(if $(SEED),--seed $(SEED)) $(OPTIONS)

## Compare two runs: make compare A=folder B=folder [RELEVANT=5 percent] [FAIL=1] [OUTPUT=comparison.md]
compare: .venv/ready
	$(call needs,A,make compare A=folder B=folder)
	$(call needs,B,make compare A=folder B=folder)
	$(RUN) compare_runs $(if $(FAIL),--fail) $(if $(RELEVANT),--relevant $(RELEVANT)) $(if $(OUTPUT),--output '$(OUTPUT)') '$(A)' '$(B)'

## Show with perf where the time goes: make profile ROWS='pytorch/fused for training on stacked-lm'
profile: .venv/ready
	$(call needs,ROWS,make profile ROWS='pytorch/fused for training on stacked-lm')
	$(RUN) profile_rows '$(ROWS)' --parent $$PPID $(OPTIONS)

## Say how noisy the machine was: make noise [A=folder]
noise: .venv/ready
	$(RUN) noise $(if $(A),'$(A)')

## Export numbers for other tools: make export FORMAT=pyperf|benchmark-action [A=folder] [OUTPUT=file]
export: .venv/ready
	$(call needs,FORMAT,make export FORMAT=pyperf or benchmark-action)
	$(RUN) export_results $(if $(OUTPUT),--output '$(OUTPUT)') $(FORMAT) $(if $(A),'$(A)')

## Pack this machine's results to share them: make pack [BY='your name'] [KEY=~/.ssh/id_ed25519 signs it]
pack: .venv/ready
	$(RUN) pack_results $(if $(BY),--by '$(BY)') $(if $(KEY),--key '$(KEY)')

## Check another machine's pack and publish it with ours: make accept PACK=archive (docs/how-to/several-machines.md)
accept: .venv/ready
	$(call needs,PACK,make accept PACK=archive)
	$(RUN) accept_pack '$(PACK)'

## Write an environment's lock: make lock ENVIRONMENT=pytorch [FROM=folder it was built in] [RESOLVE=1 installs nothing]
lock: .venv/ready
	$(call needs,ENVIRONMENT,make lock ENVIRONMENT=pytorch)
	$(RUN) lock_environment $(if $(FROM),--from '$(FROM)') $(if $(RESOLVE),--resolve) $(ENVIRONMENT)

## Render the pages of a pack without measuring: make pages PACK=archive [OUTPUT=folder]
pages: .venv/ready
	$(call needs,PACK,make pages PACK=archive)
	$(RUN) render_pack '$(PACK)' $(if $(OUTPUT),--output '$(OUTPUT)')

## Measure and publish in report/example, which keeps measurements of this machine that are not made again
example: report
	$(RUN) pack_results results --over report/example/records.tar.xz --output report/example/records.tar.xz
	$(MAKE) example-pages

## Render the published example again from its records, and update the README's numbers
example-pages: build/pages/example/index.html
	find report/example -type f ! -name 'records*' -delete
	cp -r $(addprefix build/pages/example/,*.md figures cells.csv) report/example
	sed -i -E -e 's/ ?\[(Numbers|As curves)\]\(index\.html#[^)]*\)\.?//g; s/\[Explore them\]\(index\.html#[^)]*\) · \[m/[M/' \
		-e 's/\[([^]]*)\]\((index\.html#|machines\/)[^)]*\)/\1/g; s/\(index\.html\)/(index.md)/g' report/example/*.md  # explorer: HTML only
	sed -i -E 's#`(pip install ./)?packages/recurrent_cells(\[torch\])?`#[&](../../packages/recurrent_cells/README.md)#' report/example/index.md
	$(RUN) fill_readme

RENDER = $(wildcard scripts/*/*.py scripts/reporting/*/*.* config/*.yaml config/*/* report/*.j2 report/*/*.* workflow/schemas/*)
MACHINES = $(wildcard report/machines/*)
build/pages/example/index.html: report/example/records.tar.xz $(RENDER) .venv/ready
	$(RUN) render_pack $< $(MACHINES) --output $(@D)

## Build this book, with the published report: site/index.html. Broken links fail
docs: .docs/ready .venv/ready build/pages/example/index.html
	.docs/bin/python docs/book.py build/book
	.docs/bin/sphinx-build --quiet --fail-on-warning --keep-going -c docs -d build/doctrees build/book site
	.venv/bin/python scripts book_reports site
	@echo "Book: site/index.html"

## Run all tests; a part that fails does not stop the others
test: .venv/ready
	@$(MAKE) --no-print-directory --keep-going check test-contract test-workflow

## Run lints and unit tests
check: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint --configfile '$(CONFIG)'
	.venv/bin/python -m pytest --numprocesses auto --dist loadfile tests/unit packages/recurrent_cells/tests

## Check every implementation against the reference: make test-contract [ISA=avx2 restricts all libraries]
test-contract: .venv/ready
	.venv/bin/python -m pytest tests/contract $(if $(ISA),--isa $(ISA))

## Run the workflow and a selection of faults
test-workflow: .venv/ready .docs/ready
	.venv/bin/python -m pytest --numprocesses auto --dist loadfile tests/workflow tests/faults

## Inject every kind of fault into small runs, each up to ten times; results/faults/ gets the table: make test-faults [SEED=n]
test-faults: .venv/ready
	.venv/bin/python -m pytest tests/faults -m "long or not long" --times 10 $(if $(SEED),--seed $(SEED))

## Fuzz configuration, tables, records and packs: make fuzz [SECONDS=600 per kind]
fuzz: .venv/ready
	@for kind in configuration tables records packs; do .venv/bin/python -m tests.fuzz $$kind --seconds $(or $(SECONDS),600) || exit 1; done

## Ask PyPI for known vulnerabilities of the packages of .venv, .docs and the locks for Python 3.11
audit: .venv/ready
	$(RUN) audit_packages

## Format and fix Python and Snakemake files
format: .venv/ready
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	.venv/bin/snakefmt Snakefile workflow

## Delete results, environments and the book
clean:
	@test ! -e results/run.lock || said=$$($(PYTHON) -c 'import fcntl; fcntl.flock(open("results/run.lock"), fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>&1) \
		|| { case "$$said" in *BlockingIOError*) echo "A run is at work in this folder: wait for it, or end it, before make clean.";; \
			*) echo "$(PYTHON) cannot tell whether a run is at work here ($$(echo "$$said" | tail -n 1)). Choose another: make PYTHON=python3.12 clean; or delete results/run.lock if none is.";; esac; exit 1; }
	rm -rf results .environments .snakemake .venv .docs site

NO_PYTHON = { echo "There is no $(PYTHON). Choose a Python of version 3.11 or newer: make PYTHON=python3.12 report"; exit 1; }
# What an environment was made with, of which it has a link.
BASE = -c 'import os, sys; print(os.path.realpath(sys.executable))'
ifneq ($(origin PYTHON),file)
.PHONY: same-python
same-python:
	@command -v '$(PYTHON)' > /dev/null || $(NO_PYTHON)
	@test ! -e .venv/ready || test "$$($(PYTHON) $(BASE) 2> /dev/null)" = "$$(.venv/bin/python $(BASE))" \
		|| { echo "$(PYTHON) is not the Python of .venv, which exists already. Delete .venv to build it anew; results stay."; exit 1; }
.venv/ready: | same-python
endif

# Versions are pinned in envs/ only.
.venv/ready: envs/workflow.yaml envs/report.yaml
	@command -v '$(PYTHON)' > /dev/null || $(NO_PYTHON)
	@$(KEPT) $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is not a Python 3.11 or newer that runs. Choose another: make PYTHON=python3.12 report"; exit 1; }
ifneq ($(wildcard wheels),)
	$(KEPT) $(PYTHON) -m venv --without-pip .venv
	.venv/bin/python $(firstword $(wildcard wheels/pip-*.whl))/pip install --quiet --no-compile --no-index --find-links wheels $(SNAKEMAKE)
else
	$(KEPT) $(PYTHON) -m venv .venv
	grep -hoE '[A-Za-z0-9._-]+==[^ ]+' envs/workflow.yaml envs/report.yaml > .venv/requirements.txt
	@.venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r .venv/requirements.txt \
		|| { echo "pip could not install what envs/workflow.yaml pins. Without a network: docs/how-to/without-network.md"; exit 1; }
endif
	touch $@

.docs/ready: envs/docs.yaml
	$(KEPT) $(PYTHON) -m venv .docs
	grep -hoE '[A-Za-z0-9._-]+==[^ ]+' envs/docs.yaml > .docs/requirements.txt
	.docs/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r .docs/requirements.txt
	touch $@
