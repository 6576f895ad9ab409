"""`exonerate splitk` as a group."""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner

from exonerate.frontends.cli.splitk import SUBCOMMANDS, splitk


def test_help_lists_every_subcommand_without_importing_it() -> None:
    """Neither torch, scipy nor Matplotlib is loaded to show a list."""
    program = (
        "import sys; from exonerate.frontends.cli.main import cli;"
        "cli.main(['splitk', '--help'], standalone_mode=False);"
        "print([m for m in ('torch', 'triton', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert all(name in shown for name in SUBCOMMANDS)
    assert shown.endswith("[]\n")


def test_plan_and_fit_need_neither_torch_nor_triton() -> None:
    """Both modules are barred from the import system, and both commands still work."""
    program = (
        "import sys; sys.modules['torch'] = None; sys.modules['triton'] = None;"
        "from exonerate.frontends.cli.main import cli;"
        "cli.main(['splitk', 'plan'], standalone_mode=False);"
        "import exonerate.frontends.cli.splitk_fit"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)


def test_an_unknown_subcommand_is_refused() -> None:
    """Not a traceback."""
    result = CliRunner().invoke(splitk, ["split"])
    assert result.exit_code == 2
    assert "No such command" in result.output
