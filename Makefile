# `make demo` and `make test` do all the set-up themselves and reuse it when it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check clean lab

demo: $(STAMP)
	$(BIN)/exonerate demo

test: $(STAMP)
	scripts/check $(BIN)
	$(BIN)/python -m pytest

check: $(STAMP)
	scripts/check $(BIN)

$(STAMP): pyproject.toml constraints.txt
	scripts/setup $(PYTHON) $(VENV)
	touch $(STAMP)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
