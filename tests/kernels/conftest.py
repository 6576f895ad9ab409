"""Which of these tests can run here: torch and Triton are an optional extra.

`make test` has neither; `make test-kernels` runs Triton's interpreter, `make compile-gate` its
compiler. One process can do only one of the two: Triton decides when a kernel is defined.
"""

from __future__ import annotations

import importlib.util
import os

_INTERPRETER = os.environ.get("TRITON_INTERPRET") == "1"
_NEEDS_TORCH = ["test_torch_attention.py", "prover/test_torch_arrays.py", "test_bench.py"]
_NEEDS_INTERPRETER = ["test_triton_attention.py", "test_triton_kernels.py"]
_NEEDS_COMPILER = ["test_compile_gate.py"]

collect_ignore: list[str] = []
if importlib.util.find_spec("torch") is None:
    collect_ignore += _NEEDS_TORCH + _NEEDS_INTERPRETER + _NEEDS_COMPILER
elif _INTERPRETER:
    collect_ignore += _NEEDS_COMPILER
else:
    collect_ignore += _NEEDS_INTERPRETER
