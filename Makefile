# Everything is done in an environment that this file makes with pip when there is none.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One worker a core; a single worker on one core.
WORKERS ?= auto

# Bytecode is kept: hundreds of processes would compile the same sources, and each worker rewrite all tests.
export PYTHONDONTWRITEBYTECODE :=

# Each worker has a core: threads of BLAS would wait in loops for each other, for a sixth of the time of numeric tests.
kernels unit coverage: export OPENBLAS_NUM_THREADS := 1

.PHONY: help announce demo test lint types kernels unit coverage wheel wheel-twice lock test-slow test-forger test-canary test-faults test-mutants test-browser lint-deploy docs bench clean
help:
	@echo "make demo          design a mechanism for an embedded city and write demo/index.html"
	@echo "make test          lint, types, tests, examples, coverage of the trusted base, the wheel"
	@echo "make test-slow     long and statistical tests, and properties with all their draws"
	@echo "make test-forger   twenty thousand mutants of every kind of file: does a verifier pass what is false? for hours"
	@echo "make test-canary   twenty thousand runs of all commands on broken files: does a private value come out?"
	@echo "make test-faults   break five hundred releases off at their system calls: is a charge ever without a result?"
	@echo "make test-mutants  break copies of the library on purpose: a test must notice each time"
	@echo "make test-browser  look at the documentation, the reports and the studio in headless Chromium"
	@echo "make lint-deploy   the manifest by the schemas of Kubernetes, the workflows, the unit"
	@echo "make docs          build the documentation into docs/_build"
	@echo "make wheel-twice   build the wheels twice and compare their digests"
	@echo "make bench         the benchmarks, printed with the machine"

# What is installed is what the lock names, file by file; the project comes last and brings nothing along.
# Pip compiles bytecode on one core, also of tests and of what nobody imports; templates that are no Python may fail.
$(VENV)/.made: pyproject.toml reproduction/pyproject.toml constraints.txt requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e ./reproduction
	@$(BIN)/python -m compileall -qq -j 0 -x '/(tests|mypy|mypyc|pip|fontTools|lexers|setuptools|pkg_resources)/' $(VENV)/lib || true
	@touch $@

demo: $(VENV)/.made
	@echo "make demo takes one to three minutes, the first time a minute longer"
	$(BIN)/discreet demo -o demo/

# Types and wheels keep one core busy each, and wait for disks and networks; tests of speed run alone.
test: announce lint
	@$(MAKE) --no-print-directory -j4 types kernels wheel coverage
	@$(MAKE) --no-print-directory unit SEEN="$(KERNELS)"

announce:
	@echo "make test takes a quarter of an hour or more on two cores, and says where it stands"

lint: $(VENV)/.made
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.made
	$(BIN)/mypy

# What takes longest to compile: two workers that begin at once would each compile it.
KERNELS := tests/cli/test_cli_roles.py::test_nothing_unassigned_is_published \
	tests/cli/test_cli_roles.py::test_numbers_are_rounded_to_multiples \
	tests/cli/test_cli_odd_cells.py::test_odd_cells_end_with_a_documented_status \
	tests/cli/test_cli_verified.py::test_each_kind_of_file_has_a_page \
	tests/audits/test_hierarchy_privacy.py::test_releases_with_half_the_sensitivity_are_refused \
	tests/hierarchy/test_model_1.py::test_merged_tables_find_the_optimum_where_their_windows_hold_one \
	tests/kanonymity/test_anonymize.py::test_ctrl_c_leaves_the_best_table_by_then
kernels: $(VENV)/.made
	$(BIN)/pytest -q -n 0 -p no:randomly $(KERNELS)

# Tests start hundreds of processes; where Python may write no bytecode, each would compile the sources again.
# Properties have twenty draws here, by which each mutant of the list is seen; `make test-slow` draws as many as they state.
unit: $(VENV)/.made
	$(BIN)/python -m compileall -q src reproduction/src
	DISCREET_TEST_EXAMPLES=20 $(BIN)/pytest -q -n $(WORKERS) --dist worksteal $(addprefix --deselect=,$(SEEN))

# The trusted base, measured apart: kernels run as plain Python there, so that every branch is seen.
coverage: $(VENV)/.made
	$(BIN)/python tests/meta/coverage_gate.py

wheel: $(VENV)/.made
	$(BIN)/python tests/meta/wheel_gate.py

# Two builds in two folders have one digest.
wheel-twice: $(VENV)/.made
	$(BIN)/python tests/meta/wheel_twice.py

# After a change of dependencies; needs `uv` on the path.
lock:
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
		-c constraints.txt pyproject.toml --all-extras --group dev -o requirements.lock

test-slow: $(VENV)/.made
	$(BIN)/pytest -q -n $(WORKERS) -m "slow or statistical or hypothesis"

# What was counted is kept in build/forger, so that a run that was stopped goes on; FORGER_SECONDS=400 makes portions.
test-forger: $(VENV)/.made
	$(BIN)/pytest -q -n 0 -s -m forger tests/forger

test-canary: $(VENV)/.made
	$(BIN)/pytest -q -n 0 -s -m canary tests/forger

test-faults: $(VENV)/.made
	$(BIN)/pytest -q -n $(WORKERS) -m faults tests/faults

# One process a core: each has a copy of its own.
test-mutants: $(VENV)/.made
	$(BIN)/pytest -q -n $(WORKERS) -m mutants tests/mutants

$(VENV)/.browser: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group browser
	@touch $@

test-browser: $(VENV)/.browser docs
	DISCREET_DOCS="$(CURDIR)/docs/_build" PYTEST="$(BIN)/pytest" sh tests/browser/run.sh

$(VENV)/.linters: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group linters
	@touch $@

# Names and types by the schemas of the oldest and the newest Kubernetes that the package holds; nothing is asked of a network.
lint-deploy: $(VENV)/.linters
	$(BIN)/kubernetes-validate --strict -k 1.25 deploy/kubernetes.yaml
	$(BIN)/kubernetes-validate --strict -k 1.37 deploy/kubernetes.yaml
	$(BIN)/zizmor --offline .github/workflows
	@if command -v systemd-analyze; then systemd-analyze verify deploy/discreet.service; else echo "no systemd here: the unit was not read"; fi

$(VENV)/.docs: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -q -b html docs docs/_build
	$(BIN)/python docs/tools/gate.py docs/_build

bench: $(VENV)/.made
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .wheel-venv build dist demo papers docs/_build docs/jupyter_execute
