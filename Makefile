# `make report` and `make test` do all set-up; everything they install lies in .venv, .environments and .docs.
PYTHON ?= python3
CONFIG ?= config/quick.yaml
SNAKEMAKE = $(shell grep -hoE 'snakemake==[^ ]+' envs/workflow.yaml)
OPTIONS = --configfile '$(CONFIG)' --config
# Settings over the config file: make report SET='corpus={path: /folder}' (quote the whole value)
ifdef SET
OPTIONS += '$(SET)'
endif

# Ctrl-C while an interpreter starts, before it can answer one: kept until it can (GNU's env).
KEPT = $(shell env --block-signal=INT true 2>/dev/null && echo env --block-signal=INT)
# A command; what starts Snakemake ends with `make`, killed or not (--parent).
RUN = @exec $(KEPT) .venv/bin/python scripts

# Where it is set (as in many images), every process would compile every module it imports: 3 s for TensorFlow.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: report cell measure wheels plan html bump compare profile noise export pack lock prune pages example example-pages docs test check test-contract test-workflow test-faults test-faults-long fuzz fuzz-run audit format clean

report: .venv/ready
	$(RUN) run_workflow --parent $$PPID $(OPTIONS)

# A recurrent cell of your own, in one file: make cell CELL=my_cell.py [SHAPE='{batch: 32, length: 200}'] [PHASES=training]
# [FRAMEWORKS='pytorch jax'] (docs/how-to/own-cell.md). Its protocol is config/cell/config.yaml, unless CONFIG names another
cell: .venv/ready
	$(RUN) run_cell --parent $$PPID $(if $(SHAPE),--shape '$(SHAPE)') $(if $(PHASES),--phases '$(PHASES)') \
		$(if $(FRAMEWORKS),--frameworks '$(FRAMEWORKS)') \
		$(if $(filter file,$(origin CONFIG)),,--configfile '$(CONFIG)') $(if $(SET),--config '$(SET)') -- '$(CELL)'

# Records without pages, packed: for a machine without network, with frameworks of its own (docs/how-to/without-network.md). LIMIT=540: stops in time
measure: .venv/ready
	$(RUN) run_workflow --parent $$PPID --measure $(if $(LIMIT),--limit $(LIMIT)) $(OPTIONS)

# What `make measure` needs where no package index can be reached, for the Python there: make wheels FOR=3.12
FOR ?= $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
wheels:
	$(PYTHON) -m pip wheel --quiet --wheel-dir wheels pip $(SNAKEMAKE)
	ls wheels | grep -v -e none-any -e abi3 | sed 's/\([^-]*\)-\([^-]*\)-.*/\1==\2/' | sort -u \
	| xargs $(PYTHON) -m pip download --quiet --dest wheels --no-deps --only-binary :all: --python-version $(FOR)
	ls wheels | grep -v -e none-any -e abi3 -e -cp$(subst .,,$(FOR))- | sed 's|^|wheels/|' | xargs rm -f

# make plan [CONFIG=config/config.yaml] [FILES=1]
plan: .venv/ready
	$(RUN) plan_run $(if $(FILES),--files) $(OPTIONS)

# Results that nothing asks for any more, CONFIG's are asked for: make prune [YES=1]
prune: .venv/ready
	$(RUN) prune_results $(if $(YES),--yes) $(OPTIONS)

html: report
	.venv/bin/snakemake --report report.html --configfile '$(CONFIG)' $(if $(SET),--config '$(SET)')

# make bump PIN=torch==2.14.0 [FROM=version] [IN=environment] [CELLS='rows to watch'] [AGAIN=1] [RELEVANT=3] [FAIL=1]
bump: .venv/ready
	$(RUN) bump_version '$(PIN)' --parent $$PPID $(if $(FROM),--from '$(FROM)') $(if $(IN),--in $(IN)) \
		$(if $(CELLS),--cells '$(CELLS)') $(if $(AGAIN),--again) $(if $(RELEVANT),--relevant $(RELEVANT)) \
		$(if $(FAIL),--fail) $(OPTIONS)

# make compare A=folder B=folder [FAIL=1] [OUTPUT=comparison.md]
compare: .venv/ready
	$(RUN) compare_runs $(if $(FAIL),--fail) $(if $(OUTPUT),--output $(OUTPUT)) $(A) $(B)

# Where the time of rows' batches goes, by perf: make profile ROWS='pytorch/fused for training on stacked-lm'
profile: .venv/ready
	$(RUN) profile_rows '$(ROWS)' --parent $$PPID $(OPTIONS)

# How noisy the machine of a results folder was, and what explains it (docs/notebook/noise.md): make noise [A=folder]
noise: .venv/ready
	$(RUN) noise $(A)

# What was measured in a form that other tools read, in results/FORMAT.json: make export FORMAT=pyperf|benchmark-action
# [A=folder] [OUTPUT=file]
export: .venv/ready
	$(RUN) export_results $(if $(OUTPUT),--output $(OUTPUT)) $(FORMAT) $(A)

# The results of this machine as an archive for somebody who reports several (also_report) or compares two:
# make pack [BY='your name'] [KEY=~/.ssh/id_ed25519], which signs it
pack: .venv/ready
	$(RUN) pack_results $(if $(BY),--by '$(BY)') $(if $(KEY),--key '$(KEY)')

# What an environment is built of, resolved anew, or as it was built: make lock ENVIRONMENT=pytorch [FROM=folder]; with
# RESOLVE=1 nothing is installed
lock: .venv/ready
	$(RUN) lock_environment $(if $(FROM),--from $(FROM)) $(if $(RESOLVE),--resolve) $(ENVIRONMENT)

# The pages of a pack alone, nothing is measured: make pages PACK=archive [OUTPUT=folder]
pages: .venv/ready
	$(RUN) render_pack '$(PACK)' $(if $(OUTPUT),--output '$(OUTPUT)')

# The pages that the repository shows, and the table that make plan estimates from where nothing was measured yet: of all
# documents that lie in results/. Packs of other machines beside it stay
example: report
	find report/example -type f ! -name 'records-*' -delete
	$(RUN) pack_results --output report/example/records.tar.xz
	$(MAKE) example-pages

# The same pages by today's code, of the records of that run and of other machines' packs beside it: nothing is measured,
# nothing installed beside .venv
example-pages: build/pages/example/index.html
	cp -r $(addprefix build/pages/example/,*.md figures cells.csv) report/example
	sed -i 's/(cells.html)/(cells.csv)/' report/example/*.md

RENDER = $(wildcard scripts/*/*.py scripts/reporting/*/*.* config/*.yaml config/*/* report/*.j2 workflow/schemas/*)
build/pages/example/index.html: report/example/records.tar.xz $(RENDER) .venv/ready
	$(RUN) render_pack $< $(wildcard $(<D)/records-*.tar.xz) --output $(@D)

# The book, in site/ (index.html), strict about links, with the reports' own HTML pages
docs: .docs/ready .venv/ready build/pages/example/index.html
	.docs/bin/python docs/book.py build/book
	.docs/bin/sphinx-build --quiet --fail-on-warning --keep-going -c docs -d build/doctrees build/book site
	.venv/bin/python scripts book_reports site
	@echo "Book: site/index.html"

# What fails in one part keeps no other from running
test: .venv/ready
	@$(MAKE) --no-print-directory --keep-going check test-contract test-workflow

# For whoever changes a line
check: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/snakefmt --check Snakefile workflow
	.venv/bin/snakemake --lint --configfile '$(CONFIG)'
	.venv/bin/python -m pytest --numprocesses auto --dist loadfile tests/unit

# ISA=avx2: with the libraries held to that
test-contract: .venv/ready
	.venv/bin/python -m pytest tests/contract $(if $(ISA),--isa $(ISA))

test-workflow: .venv/ready .docs/ready
	.venv/bin/python -m pytest --numprocesses auto --dist loadfile tests/workflow tests/faults

# Faults injected into small runs, all of them, each up to ten times; the table goes to results/faults/. SEED=n: as then
test-faults: .venv/ready
	.venv/bin/python -m pytest tests/faults -m "long or not long" --times 10 $(if $(SEED),--seed $(SEED))

# A document in full shapes without faults, and with 30 at random moments: the same cells and verdicts? ROWS='a in b,c': only these
test-faults-long: .venv/ready
	.venv/bin/python -m tests.faults.long results/faults/long $(if $(ROWS),--rows '$(ROWS)') $(if $(FAULTS),--faults $(FAULTS)) \
		$(if $(SEED),--seed $(SEED))

# What comes from outside, ten minutes a kind: make fuzz [SECONDS=600]
fuzz: .venv/ready
	@for kind in configuration tables records packs; do .venv/bin/python -m tests.fuzz $$kind --seconds $(or $(SECONDS),600) || exit 1; done

# Random files damaged before runs and during them: make fuzz-run [SECONDS=600] [SEED=1]
fuzz-run: .venv/ready
	.venv/bin/python -m tests.fuzz_run --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

# Known weaknesses of everything that is installed here and in the locks of today's environments (asks PyPI; where that
# cannot be reached it says so, and the command's own exit status is 3)
audit: .venv/ready
	$(RUN) audit_packages

format: .venv/ready
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	.venv/bin/snakefmt Snakefile workflow

clean:
	@test ! -e results/run.lock || $(PYTHON) -c 'import fcntl; fcntl.flock(open("results/run.lock"), fcntl.LOCK_EX | fcntl.LOCK_NB)' 2> /dev/null \
		|| { echo "A run is at work in this folder: wait for it, or end it, before make clean."; exit 1; }
	rm -rf results .environments .snakemake .venv .docs site

# The pins stand in envs/ and nowhere else.
.venv/ready: envs/workflow.yaml envs/report.yaml
	@$(KEPT) $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; $(PYTHON) is older. Name another one: make PYTHON=python3.12 report"; exit 1; }
ifneq ($(wildcard wheels),)
	$(KEPT) $(PYTHON) -m venv --without-pip .venv
	.venv/bin/python $(firstword $(wildcard wheels/pip-*.whl))/pip install --quiet --no-compile --no-index --find-links wheels $(SNAKEMAKE)
else
	$(KEPT) $(PYTHON) -m venv .venv
	grep -hoE '[A-Za-z0-9._-]+==[^ ]+' envs/workflow.yaml envs/report.yaml > .venv/requirements.txt
	.venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r .venv/requirements.txt
endif
	touch $@

.docs/ready: envs/docs.yaml
	$(KEPT) $(PYTHON) -m venv .docs
	grep -hoE '[A-Za-z0-9._-]+==[^ ]+' envs/docs.yaml > .docs/requirements.txt
	.docs/bin/python -m pip install --quiet --no-compile --disable-pip-version-check -r .docs/requirements.txt
	touch $@
