# `make demo` and `make test` do all the set-up themselves and reuse it when it is there.
# Another interpreter: make PYTHON=/path/to/python3.11
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

KERNELS_VENV := .venv-kernels
KERNELS_BIN := $(KERNELS_VENV)/bin
KERNELS_STAMP := $(KERNELS_VENV)/.installed

.PHONY: demo test check check-wheel docs lab lab-ci lab-parts test-kernels compile-gate clean

demo: $(STAMP)
	$(BIN)/exonerate demo

# Everything that a plain machine can run. Not in it, each with a target of its own: PostgreSQL
# (lab), torch and Triton (test-kernels, compile-gate), the installed wheel (check-wheel).
test: $(STAMP)
	scripts/check $(BIN)
	$(BIN)/python -m pytest
	@echo "Not part of it: PostgreSQL (make lab), torch and Triton (make test-kernels)."

check: $(STAMP)
	scripts/check $(BIN)

check-wheel: $(STAMP)
	scripts/check-wheel

# What needs root or programs from apt.
lab: $(STAMP)
	scripts/lab $(BIN)

# A few minutes of scenarios with a known culprit; fails when an innocent is accused.
lab-ci: $(STAMP)
	$(BIN)/exonerate lab run --quick

# Third-party programs for the scenarios that need them: from the Python index, and as root from apt.
lab-parts: $(STAMP)
	scripts/lab-parts $(BIN)

# Writes again what pages repeat from the source: see the head of the program.
docs: $(STAMP)
	$(BIN)/python scripts/write_reference.py

# The split-K kernels on torch and in Triton's interpreter; needs no GPU.
test-kernels: $(KERNELS_STAMP)
	OMP_NUM_THREADS=1 TRITON_INTERPRET=1 $(KERNELS_BIN)/python -m pytest tests/kernels/prover/test_torch_arrays.py \
	  tests/kernels/test_torch_attention.py tests/kernels/test_bench.py \
	  tests/kernels/test_triton_attention.py tests/kernels/test_triton_kernels.py

# Compiles the kernels for GPUs that are not here and gates registers, spills and shared memory.
compile-gate: $(KERNELS_STAMP)
	$(KERNELS_BIN)/python -m exonerate.kernels.compile_gate
	$(KERNELS_BIN)/python -m pytest tests/kernels/test_compile_gate.py

$(KERNELS_STAMP): pyproject.toml constraints.txt constraints-kernels.txt
	scripts/setup-kernels $(PYTHON) $(KERNELS_VENV)
	touch $(KERNELS_STAMP)

$(STAMP): pyproject.toml constraints.txt
	scripts/setup $(PYTHON) $(VENV)
	touch $(STAMP)

clean:
	rm -rf $(VENV) $(KERNELS_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
