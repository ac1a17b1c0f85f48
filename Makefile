# Everything runs in .venv, which `make` builds by itself when pyproject.toml or a kernel source changes.
# Needs: Python 3.11 or later with venv, a C compiler, a package index.

PYTHON ?= python3
WORKERS ?= 2
BIN = .venv/bin
BUILT = .venv/built
KERNELS = $(wildcard lrisk_cli/*.pyx lrisk_cli/native/*.pxi)
BASE ?= 64e8142
WINE = sample_data/wine_quality_red.csv

.PHONY: help build demo test test-floor test-matrix same check format bench bench-quick bench-against \
	paper paper-quick torture fuzz corpora man images clean

help:
	@echo 'make demo    build, fit the shipped wine sample for its tail and for its mean, compare'
	@echo 'make test    build, run every test, print how much of the code they reach'
	@echo 'make test-floor   run the tests with the lowest versions that pyproject.toml allows'
	@echo 'make test-matrix  run the tests with every supported Python that is found here'
	@echo 'make same    compare the results of about 190 commands with those of commit BASE=$(BASE)'
	@echo 'make check   formatting, lint, types, Cython lint'
	@echo 'make build   make .venv, compile the kernels, install lrisk and its tools there'
	@echo 'make format  rewrite the Python files in the house format'
	@echo 'make bench   run every benchmark and record the results; ONLY="speed/sort memory" runs these'
	@echo 'make bench-quick    run those that guard speed and memory, in under five minutes'
	@echo 'make bench-against  compare the CPU time of HEAD with that of commit BASE=$(BASE)'
	@echo 'make paper   measure the figures and tables of both papers again, into build/paper/ (an hour)'
	@echo 'make paper-quick  the same with fewer seeds and sets, in five minutes; records nothing'
	@echo 'make torture kill commands 500 times at random moments; no file may be torn or lost'
	@echo 'make fuzz    thousands of random tables, command lines, settings and model files'
	@echo 'make corpora compare what is read from the files of CORPUS=folder with pyarrow, pandas and DuckDB'
	@echo 'make man     write the manual pages, into build/man/, and completion scripts, into build/completions/'
	@echo 'make images  redo the pictures of docs/images (needs Chromium)'
	@echo 'make clean   remove what make made, .venv included'
	@echo
	@echo 'PYTHON=python3.12 picks the interpreter, WORKERS=8 the number of test processes.'

build: $(BUILT)

.venv/made:
	$(PYTHON) -m venv .venv
	@touch $@

$(BUILT): .venv/made pyproject.toml $(KERNELS) $(wildcard lrisk_cli/native/*.h)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(BUILT)
	@mkdir -p demo_output
	@set -e; PATH="$$PWD/$(BIN):$$PATH"; \
	run() { printf '\n$$ %s\n' "$$*"; "$$@"; }; \
	run lrisk fit $(WINE) --target quality --risk superquantile:0.9 --holdout 0.2 \
		-o demo_output/tail.json --force; \
	run lrisk fit $(WINE) --target quality --risk mean --holdout 0.2 \
		-o demo_output/mean.json --force; \
	run lrisk evaluate demo_output/tail.json $(WINE) --intervals; \
	run lrisk evaluate demo_output/mean.json $(WINE) --intervals; \
	printf '\ntail.json was fitted to the worst tenth of the losses, mean.json to their average:\n'; \
	printf 'compare superquantile:0.9 and mean, on the training rows and on those held out.\n'

# Every process of the run measures which lines and branches it reaches: up to half as much time more.
test: $(BUILT)
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -n $(WORKERS)
	@$(BIN)/python tests/coverage_figures.py

# Each in a copy of the tree, in build/matrix. TESTS="tests/tables -x" runs a part of them;
# PYTHONS="python3.12 /path/to/python" names the interpreters.
test-floor:
	@$(PYTHON) tests/matrix/matrix.py --floor --pythons '$(PYTHONS)' -- -n $(WORKERS) $(TESTS)

test-matrix:
	@$(PYTHON) tests/matrix/matrix.py --pythons '$(PYTHONS)' -- -n $(WORKERS) $(TESTS)

# The base is built and recorded once, in build/same. K=fit-kernel picks cases.
same: $(BUILT)
	$(BIN)/python tests/same/same.py --base $(BASE) $(if $(K),-k '$(K)')

check: $(BUILT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PATH="$$PWD/$(BIN):$$PATH" cython-lint $(KERNELS)

format: $(BUILT)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Hours; nothing is recorded from a tree with uncommitted changes. See benchmarks/README.md.
bench: $(BUILT)
	@$(BIN)/python -m benchmarks $(ONLY)

bench-quick: $(BUILT)
	@$(BIN)/python -m benchmarks --quick

# Both commits are built in build/same, as `make same` does.
bench-against: $(BUILT)
	@$(BIN)/python -m benchmarks.speed.against --base $(BASE)

# Two processes; nothing is recorded from a tree with uncommitted changes.
paper: $(BUILT)
	@$(BIN)/python -m benchmarks.papers.spectral
	@$(BIN)/python -m benchmarks.papers.subquantile

paper-quick: $(BUILT)
	@$(BIN)/python -m benchmarks.papers.spectral --quick
	@$(BIN)/python -m benchmarks.papers.subquantile --quick

torture: $(BUILT)
	$(BIN)/python tests/torture.py --kills 500

# Hypothesis, then five minutes guided by coverage where atheris can be installed.
fuzz: $(BUILT)
	$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile long -k any tests/program/test_fuzz.py tests/models/test_damaged_files.py
	@$(BIN)/python -m pip install -qq --disable-pip-version-check atheris || \
		echo 'atheris cannot be installed here; hypothesis alone has fuzzed'
	@if $(BIN)/python -c 'import atheris' 2>/dev/null; then \
		$(BIN)/python tests/fuzz_atheris.py -max_total_time=300; fi

# Without CORPUS: the own corpus of about 980 files. Writes build/corpora.json.
corpora: $(BUILT)
	@PYTHONPATH=tests $(BIN)/python -m outside.corpora $(if $(CORPUS),'$(CORPUS)') $(if $(K),-k '$(K)')

# SOURCE_DATE_EPOCH sets the date of the pages.
man: $(BUILT)
	$(BIN)/lrisk man -o build/man/ --force
	@mkdir -p build/completions
	$(BIN)/lrisk completion bash > build/completions/lrisk
	$(BIN)/lrisk completion zsh > build/completions/_lrisk
	$(BIN)/lrisk completion fish > build/completions/lrisk.fish

images: $(BUILT)
	$(BIN)/python docs/make_images.py

clean:
	rm -rf .venv build demo_output lrisk_cli.egg-info
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache
	rm -f lrisk_cli/_core*.c lrisk_cli/_core*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
