# The two commands for a new machine: `make table` and `make test`.
# Both build the locked environment in .venv where it is missing or older than the lock.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Inside an activated environment, the Python that made it: .venv cannot rebuild itself.
BASE_PYTHON = $(shell $(PYTHON) -c "import sys; print(sys._base_executable)")
CORES ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: table test lint lock clean

table: $(VENV)/complete
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) results/xnli_table.csv
	@cat results/xnli_table.md

test: $(VENV)/complete
	PATH="$(CURDIR)/$(BIN):$$PATH" pytest

lint: $(VENV)/complete
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PATH="$(CURDIR)/$(BIN):$$PATH" snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint

lock:
	uv pip compile --generate-hashes --extra dev --python-version 3.11 \
		--no-header pyproject.toml --output-file requirements.lock
	python3 envs/pin.py

$(VENV)/complete: requirements.lock
	$(BASE_PYTHON) -m venv --clear --without-pip $(VENV)
	$(BASE_PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check \
		install --quiet --require-hashes --requirement requirements.lock
	touch $@

clean:
	rm -rf $(VENV) results .snakemake
