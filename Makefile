# Compilarium from a clone. Everything goes into .venv and node_modules; `make help` lists the targets.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
HOST ?= 127.0.0.1
PORT ?= 8000
CNNS ?= squeezenet resnet50 shufflenet inception_v2
TESTS ?= tests
WORKERS ?= 2
BASE ?= HEAD
# Files go to workers in the order of the collection: contracts first, of the browser's the longest first.
# A test without an end takes its worker with it and is named, native code included.
SHARED = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --timeout 400 --timeout-method thread
SEED ?= 1
SEEDS ?= 1,2,3
GRAPHS ?= 5000
STEP ?= 1
FUNCTIONS ?= exp,expm1,log,log1p,tanh,sigmoid,erf,gelu

# What an installation depends on, beside the lock file of its kind.
SETUP := pyproject.toml hatch_build.py setup/environment.sh

.venv/.serve: setup/serve.txt $(SETUP)
	sh setup/environment.sh serve
	@touch $@

.venv/.dev: setup/serve.txt setup/dev.txt setup/models.txt $(SETUP)
	sh setup/environment.sh dev
	@touch $@ .venv/.serve

# Cheap when nothing changed: the digest of the page's sources is compared, not their dates.
.PHONY: bundle
bundle: .venv/.serve ## bundle the page where its sources changed
	@$(BIN)/python hatch_build.py

.PHONY: serve
serve: bundle ## set everything up and serve the playground (HOST=, PORT=)
	$(BIN)/compilarium serve --host $(HOST) --port $(PORT)

.PHONY: setup
setup: .venv/.dev ## set up the environment of a developer, without a browser

.PHONY: browser
browser: .venv/.dev ## make sure that there is a Chromium for the browser tests
	@$(BIN)/python tests/browser/chromium.py

.PHONY: check
check: .venv/.dev bundle ## lint, formatting, types, and the tests of the page's modules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python hatch_build.py npm run check
	$(BIN)/python hatch_build.py npm test

# Processes that tests start find the bytecode of what they import, whatever the environment says.
quick test browser-test: export PYTHONDONTWRITEBYTECODE =
quick test browser-test: export PYTHONPYCACHEPREFIX = $(CURDIR)/var/bytecode

.PHONY: quick
quick: .venv/.dev ## what a change needs at once: style, its types, quick contracts, its own tests (BASE=)
	$(BIN)/python -m tests.quick --base $(BASE) --workers $(WORKERS)

.PHONY: test
test: browser check ## set everything up and run all tests: contracts first, the browser last
	$(BIN)/python -m pytest -m "not slow" $(SHARED) $(TESTS)

.PHONY: browser-test
browser-test: browser bundle ## only the tests in a real browser
	$(BIN)/python -m pytest -m browser $(SHARED) tests/browser

.PHONY: sweep
sweep: .venv/.dev bundle ## the slow tests that `make test` leaves out
	$(BIN)/python -m pytest -m slow $(TESTS)

.PHONY: sweep-graphs
sweep-graphs: .venv/.dev ## thousands of random graphs through passes and programs (SEED=)
	$(BIN)/python -m pytest -m slow tests/contracts/test_random_graphs.py --hypothesis-seed=$(SEED)

.PHONY: sweep-pipelines
sweep-pipelines: .venv/.dev ## 10,000 random graphs through O3 and through passes in random orders
	$(BIN)/python -m pytest -m slow tests/contracts/test_random_pipelines.py -n auto

.PHONY: sweep-outside
sweep-outside: .venv/.dev ## random ONNX models against ONNX Runtime (GRAPHS=, SEEDS=)
	$(BIN)/python -m tests.outside --graphs $(GRAPHS) --seeds $(SEEDS)

.PHONY: sweep-torch
sweep-torch: .venv/.dev ## torch modules through both exporters; needs `pip install .[outside]` (ONLY=)
	$(BIN)/python -m tests.outside.torch_modules --only "$(ONLY)"

.PHONY: sweep-faults
sweep-faults: .venv/.dev ## change every function of the rules a little, print what check does not notice
	$(BIN)/python -m tests.faults.sweep

.PHONY: sweep-malformed
sweep-malformed: .venv/.dev ## thousands of hostile files, each loaded, compiled and run in a child process
	$(BIN)/python -m tests.malformed.sweep

.PHONY: sweep-accuracy
sweep-accuracy: .venv/.dev ## all f32 numbers through the main functions; takes hours (STEP=, FUNCTIONS=)
	$(BIN)/python -m tests.accuracy --step $(STEP) --only $(FUNCTIONS)

.PHONY: bench
bench: .venv/.dev ## light CNNs of the onnx package against ONNX Runtime, one thread (CNNS=)
	@for name in $(CNNS); do \
	    model=$$($(BIN)/python -m tests.models $$name) && $(BIN)/compilarium bench $$model \
	        --random-weights 1 --against onnxruntime --threads 1 || exit 1; \
	done

.PHONY: samples
samples: .venv/.dev ## train the sample models anew and write samples/
	$(BIN)/python -m samples.train

.PHONY: screenshots
screenshots: browser bundle ## take the pictures of every view for docs/tour.md
	$(BIN)/python -m tests.browser.screenshot docs/images/views

.PHONY: tables
tables: .venv/.dev ## write the tables and counts of the documents that declarations say
	$(BIN)/python -m setup.tables

.PHONY: relock
relock: ## choose the newest allowed versions and write setup/*.txt anew
	sh setup/relock.sh

.PHONY: clean
clean: ## remove the environment, the installed packages and everything that was built
	rm -rf .venv node_modules static/dist build dist .pytest_cache .ruff_cache .hypothesis

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14
