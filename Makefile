# Compilarium from a clone. All packages are installed in .venv and node_modules; `make help` lists the targets.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
HOST ?= 127.0.0.1
PORT ?= 8000
CNNS ?= squeezenet resnet50 shufflenet inception_v2
TESTS ?= tests
# More than processors: many tests wait for servers, databases and browsers.
WORKERS ?= 3
BASE ?= HEAD
# Workers take test files in collection order: contracts first, browser tests last, the longest of them first.
# A timeout terminates the worker of a test that does not end, even in native code, and names the test.
# xdist waits for ever after it replaces a crashed worker, so the others do its files.
SHARED = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --timeout 400 --timeout-method thread
# A dump of stacks during a long test can crash CPython: only quick tests have it.
LONG = -o faulthandler_timeout=0
SEED ?= 1
SEEDS ?= 1,2,3
GRAPHS ?= 5000
STEP ?= 1
KILLS ?= 500
FUNCTIONS ?= exp,expm1,log,log1p,tanh,sigmoid,erf,gelu

# Dependencies of an installation, in addition to its lock file.
SETUP := pyproject.toml hatch_build.py setup/environment.sh

.venv/.serve: setup/serve.txt $(SETUP)
	sh setup/environment.sh serve
	@touch $@

.venv/.dev: setup/serve.txt setup/dev.txt setup/models.txt $(SETUP)
	sh setup/environment.sh dev
	@touch $@ .venv/.serve

# Fast if nothing changed: a digest of the page's sources is compared instead of their modification times.
.PHONY: bundle
bundle: .venv/.serve ## bundle the page if its sources changed
	@$(BIN)/python hatch_build.py

.PHONY: serve
serve: bundle ## set up all requirements, and serve the playground (HOST=, PORT=)
	@sh setup/bubblewrap.sh advised
	$(BIN)/compilarium serve --host $(HOST) --port $(PORT)

.PHONY: setup
setup: .venv/.dev ## set up the development environment, without a browser

.PHONY: browser
browser: .venv/.dev ## install Chromium for the browser tests, if missing
	@$(BIN)/python tests/browser/chromium.py

.PHONY: bubblewrap
bubblewrap: ## install bubblewrap, which isolates the code of others, if missing
	@sh setup/bubblewrap.sh required

.PHONY: postgresql
postgresql: .venv/.dev ## install PostgreSQL for the tests of the database, if missing
	@$(BIN)/python -m tests.postgresql

.PHONY: check
check: .venv/.dev bundle ## check lint, formatting and types, and run the JavaScript tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python hatch_build.py npm run check
	$(BIN)/python hatch_build.py npm test

# Child processes of tests reuse cached bytecode, independent of the environment's settings.
quick test browser-test: export PYTHONDONTWRITEBYTECODE =
quick test browser-test: export PYTHONPYCACHEPREFIX = $(CURDIR)/var/bytecode

.PHONY: quick
quick: .venv/.dev ## check a change: style, types, quick contracts, its tests (BASE=)
	$(BIN)/python -m tests.quick --base $(BASE) --workers $(WORKERS)

# The check and the tests run concurrently; if the check fails, its output is printed and the tests stop. Background
# processes of a shell ignore an interrupt, so the trap ends the tests.
.PHONY: test
test: browser bubblewrap postgresql bundle ## set up all requirements, check, and run all tests: contracts first, browser tests last
	@mkdir -p var
	@$(BIN)/python -m pytest -m "not slow" $(SHARED) $(TESTS) & tests=$$!; \
	trap 'kill $$tests; exit 130' INT TERM; \
	$(MAKE) --no-print-directory check > var/check.log 2>&1 || { kill $$tests; cat var/check.log; exit 1; }; \
	wait $$tests

.PHONY: browser-test
browser-test: browser bundle ## run only the browser tests
	$(BIN)/python -m pytest -m browser $(SHARED) tests/browser

.PHONY: sweep
sweep: .venv/.dev bundle ## run the slow tests, which `make test` excludes
	$(BIN)/python -m pytest -m slow $(LONG) $(TESTS)

.PHONY: sweep-graphs
sweep-graphs: .venv/.dev ## test passes and programs on thousands of random graphs (SEED=)
	$(BIN)/python -m pytest -m slow $(LONG) tests/contracts/test_random_graphs.py --hypothesis-seed=$(SEED)

.PHONY: sweep-pipelines
sweep-pipelines: .venv/.dev ## test O3 and random pass orders on 10,000 random graphs
	$(BIN)/python -m pytest -m slow $(LONG) tests/contracts/test_random_pipelines.py -n auto

.PHONY: sweep-outside
sweep-outside: .venv/.dev ## compare random ONNX models with ONNX Runtime (GRAPHS=, SEEDS=)
	$(BIN)/python -m tests.outside --graphs $(GRAPHS) --seeds $(SEEDS)

.PHONY: sweep-torch
sweep-torch: .venv/.dev ## test torch modules from both exporters; requires `pip install .[outside]` (ONLY=)
	$(BIN)/python -m tests.outside.torch_modules --only "$(ONLY)"

.PHONY: sweep-faults
sweep-faults: .venv/.dev ## mutate each function of the rules, and print mutants that `check` does not detect
	$(BIN)/python -m tests.faults.sweep

.PHONY: sweep-lessons
sweep-lessons: .venv/.dev ## check all lessons, with a second for measuring in each experiment
	$(BIN)/compilarium lesson check --seconds 1

.PHONY: sweep-malformed
sweep-malformed: .venv/.dev ## load, compile and run thousands of malformed files, each in a child process
	$(BIN)/python -m tests.malformed.sweep

.PHONY: sweep-service
sweep-service: .venv/.dev postgresql ## disturb a service at random moments, and check that nothing is lost (KILLS=, SEED=)
	$(BIN)/python -m tests.faults_of_service --database sqlite --kills $(KILLS) --seed $(SEED)
	$(BIN)/python -m tests.faults_of_service --database postgresql --kills $(KILLS) --seed $(SEED)

.PHONY: sweep-accuracy
sweep-accuracy: .venv/.dev ## test the main functions on all f32 numbers, in hours (STEP=, FUNCTIONS=)
	$(BIN)/python -m tests.accuracy --step $(STEP) --only $(FUNCTIONS)

.PHONY: bench
bench: .venv/.dev ## time light CNNs of the onnx package against ONNX Runtime, one thread (CNNS=)
	@for name in $(CNNS); do \
	    model=$$($(BIN)/python -m tests.models $$name) && $(BIN)/compilarium bench $$model \
	        --random-weights 1 --against onnxruntime --threads 1 || exit 1; \
	done

.PHONY: samples
samples: .venv/.dev ## retrain the sample models, and write samples/
	$(BIN)/python -m samples.train

.PHONY: screenshots
screenshots: browser bundle ## take screenshots of all views for docs/tour.md
	$(BIN)/python -m tests.browser.screenshot docs/images/views

.PHONY: lesson-screenshots
lesson-screenshots: browser bundle ## take screenshots of all lessons for docs/course.md
	$(BIN)/python -m tests.browser.lesson_screenshot docs/images/lessons

.PHONY: tables
tables: .venv/.dev ## regenerate the tables and counts in documents from declarations
	$(BIN)/python -m setup.tables

.PHONY: relock
relock: ## regenerate the lock files setup/*.txt with the newest permitted versions
	sh setup/relock.sh

.PHONY: clean
clean: ## remove the environment, installed packages and build results
	rm -rf .venv node_modules static/dist build dist .pytest_cache .ruff_cache .hypothesis

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 17
