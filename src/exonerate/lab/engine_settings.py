"""The settings of the embedded engine: a flag, else llama.cpp's environment name, else a default.

llama.cpp's command line honours `LLAMA_ARG_*`; the in-process server of `xllamacpp` does not (its
parameters are an object, tried with 2026.10.11549), so the embedded engine reads them itself, with
the same names and the same order of precedence: flag, environment, default.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from exonerate.errors import ExonerateError

T = TypeVar("T")

CACHE_TYPES = ("f16", "q8_0", "q4_0")
FLASH_ATTENTION = ("auto", "on", "off")


def whole_number(text: str) -> int:
    """A whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise ValueError("a whole number from 1 on")
    return value


def switch(text: str) -> bool:
    """on/off, as llama.cpp spells it in the environment."""
    words = {"1": True, "true": True, "on": True, "enabled": True}
    words |= {"0": False, "false": False, "off": False, "disabled": False}
    if text.lower() not in words:
        raise ValueError("on or off")
    return words[text.lower()]


def one_of(*allowed: str) -> Callable[[str], str]:
    """A reader that takes one of these words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(" or ".join(allowed))
        return text

    return read


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting: how it is called on the command line and in the environment."""

    flag: str
    environment: str
    default: T
    read: Callable[[str], T]
    meaning: str


# The default of 8 is deliberately small, so that leaving the setting out is the slow arm: a
# micro-batch of 512 (llama.cpp's own default) fills the matrix kernels far better in prefill.
UBATCH = Setting("--ubatch", "LLAMA_ARG_UBATCH", 8, whole_number, "tokens computed at once")
BATCH = Setting("--batch", "LLAMA_ARG_BATCH", 2048, whole_number, "tokens scheduled at once")
THREADS = Setting("--threads", "LLAMA_ARG_THREADS", 1, whole_number, "compute threads")
PARALLEL = Setting("--parallel", "LLAMA_ARG_N_PARALLEL", 4, whole_number, "slots")
CTX = Setting("--ctx", "LLAMA_ARG_CTX_SIZE", 8192, whole_number, "tokens of KV cache, all slots")
CONT_BATCHING = Setting(
    "--cont-batching", "LLAMA_ARG_CONT_BATCHING", True, switch, "continuous batching"
)
FLASH_ATTN = Setting(
    "--flash-attn", "LLAMA_ARG_FLASH_ATTN", "auto", one_of(*FLASH_ATTENTION), "flash attention"
)
CACHE_PROMPT = Setting(
    "--cache-prompt", "LLAMA_ARG_CACHE_PROMPT", True, switch, "reuse of common prefixes"
)
CACHE_TYPE_K = Setting(
    "--cache-type-k", "LLAMA_ARG_CACHE_TYPE_K", "f16", one_of(*CACHE_TYPES), "type of cached keys"
)
CACHE_TYPE_V = Setting(
    "--cache-type-v", "LLAMA_ARG_CACHE_TYPE_V", "f16", one_of(*CACHE_TYPES), "type of cached values"
)

NUMBERS = (UBATCH, BATCH, THREADS, PARALLEL, CTX)
SWITCHES = (CONT_BATCHING, CACHE_PROMPT)
WORDS = (FLASH_ATTN, CACHE_TYPE_K, CACHE_TYPE_V)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What the engine runs with."""

    ubatch: int
    batch: int
    threads: int
    parallel: int
    ctx: int
    cont_batching: bool
    cache_prompt: bool
    flash_attn: str
    cache_type_k: str
    cache_type_v: str


def add_flags(parser: argparse.ArgumentParser) -> None:
    """One flag per setting; an absent flag leaves the word to the environment."""
    for setting in (*NUMBERS, *SWITCHES, *WORDS):
        parser.add_argument(
            setting.flag,
            metavar=setting.flag[2].upper(),
            help=f"{setting.meaning} ({setting.environment}, default {setting.default})",
        )


def resolve(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> EngineSettings:
    """Flag, else environment, else default, for every setting.

    Raises:
        ExonerateError: a value that its setting cannot have.
    """

    def value(setting: Setting[T]) -> T:
        return _value(setting, flags.get(setting.flag), environ.get(setting.environment))

    return EngineSettings(
        ubatch=value(UBATCH),
        batch=value(BATCH),
        threads=value(THREADS),
        parallel=value(PARALLEL),
        ctx=value(CTX),
        cont_batching=value(CONT_BATCHING),
        cache_prompt=value(CACHE_PROMPT),
        flash_attn=value(FLASH_ATTN),
        cache_type_k=value(CACHE_TYPE_K),
        cache_type_v=value(CACHE_TYPE_V),
    )


def _value(setting: Setting[T], flag: str | None, environment: str | None) -> T:
    text, source = (flag, setting.flag) if flag is not None else (environment, setting.environment)
    if text is None:
        return setting.default
    try:
        return setting.read(text)
    except ValueError as error:
        raise ExonerateError(
            f"`{source}` is `{text}`; it must be {_wanted(error)}",
            f"correct `{source}` in the launch script, or leave it out ({setting.default})",
        ) from error


def _wanted(error: ValueError) -> str:
    text = str(error)
    return "a whole number from 1 on" if text.startswith("invalid literal") else text
