"""The process in which a Python target is called: it may crash, hang or scribble there.

Usage: python -m exonerate.kernels.prover.worker MODULE:FUNCTION ARRAYS DEVICE [EMPTY_LSE]

With EMPTY_LSE the function is a merge of partial answers, see `merging`.

Speaks the line protocol of `exchange`, after one line of JSON that says what the target can be
asked. What the target prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import TextIO

from exonerate.kernels.prover import exchange
from exonerate.kernels.prover.call import Kept, Target, capabilities_of, run
from exonerate.kernels.prover.memory import poisoned
from exonerate.kernels.prover.merging import attention_of


def main(arguments: list[str]) -> None:
    """Import the target, then answer one call a line until standard input ends."""
    target_name, arrays, device, *merge_arguments = arguments
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # from here on whatever is printed is not an answer
    _let_go_first()
    try:
        with poisoned(float("nan")):
            target = load(target_name)
        capabilities = capabilities_of(target, arrays=arrays, device=device)
        for empty_lse in map(float, merge_arguments):
            tensors = capabilities.arrays == "torch"
            target = attention_of(target, empty_lse=empty_lse, to_tensors=tensors)
            capabilities = replace(capabilities, keywords=frozenset(), merges=True)
    except BaseException as error:  # noqa: BLE001  # importing a target may do anything
        _say(replies, {"error": f"{type(error).__name__}: {error}", **_missing(error)})
        return
    shown = asdict(capabilities) | {"keywords": sorted(capabilities.keywords)}
    _say(replies, shown)
    kept = Kept()
    for line in sys.stdin:
        request, reply = line.split()
        answer = run(target, exchange.read_call(Path(request)), capabilities, kept=kept)
        exchange.write_answer(Path(reply), answer)
        print("ok", file=replies)  # this program's answers are lines


def load(name: str) -> Target:
    """The function that `module:function` or `file.py:function` names."""
    module_name, _, attribute = name.rpartition(":")
    sys.path.insert(0, str(Path.cwd()))
    module: ModuleType
    if module_name.endswith(".py"):
        sys.path.insert(0, str(Path(module_name).resolve().parent))
        spec = importlib.util.spec_from_file_location(Path(module_name).stem, module_name)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot load {module_name}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(module_name)
    target: Target = getattr(module, attribute)
    if not callable(target):
        raise TypeError(f"{name} is not callable")
    return target


def _missing(error: BaseException) -> dict[str, str]:
    """The module that could not be imported, so that the caller can say what to install."""
    return {"missing": error.name or ""} if isinstance(error, ModuleNotFoundError) else {}


def _let_go_first() -> None:
    """When memory runs out the kernel shall end this process and not its neighbours."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _say(replies: TextIO, message: dict[str, object]) -> None:
    print(json.dumps(message), file=replies)


if __name__ == "__main__":
    main(sys.argv[1:])
