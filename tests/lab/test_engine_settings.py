"""Where the embedded engine's settings come from."""

from __future__ import annotations

import argparse

import pytest

from exonerate.errors import ExonerateError
from exonerate.lab.engine_settings import add_flags, resolve


def test_flag_before_environment_before_default() -> None:
    """A flag wins over the environment, the environment over the default."""
    environ = {"LLAMA_ARG_UBATCH": "512", "LLAMA_ARG_THREADS": "2"}
    settings = resolve({"--threads": "3"}, environ)
    assert (settings.ubatch, settings.threads, settings.parallel) == (512, 3, 4)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", ""])
def test_wrong_number_names_its_source(text: str) -> None:
    """A number that cannot be is refused with the name it came under and what it must be."""
    with pytest.raises(ExonerateError, match=r"`LLAMA_ARG_UBATCH` is .* a whole number from 1 on"):
        resolve({}, {"LLAMA_ARG_UBATCH": text})


def test_switches_and_words() -> None:
    """Switches take llama.cpp's words; other words are refused with the ones that are known."""
    environ = {"LLAMA_ARG_CONT_BATCHING": "0", "LLAMA_ARG_FLASH_ATTN": "off"}
    settings = resolve({}, environ)
    assert settings.cont_batching is False
    assert settings.flash_attn == "off"
    with pytest.raises(ExonerateError, match="it must be auto or on or off"):
        resolve({"--flash-attn": "maybe"}, {})
    with pytest.raises(ExonerateError, match="it must be on or off"):
        resolve({}, {"LLAMA_ARG_CONT_BATCHING": "perhaps"})


def test_help_names_both_ways() -> None:
    """The help of each flag names the environment variable that does the same."""
    parser = argparse.ArgumentParser()
    add_flags(parser)
    assert "LLAMA_ARG_UBATCH" in parser.format_help()
    assert "LLAMA_ARG_CACHE_TYPE_K" in parser.format_help()
