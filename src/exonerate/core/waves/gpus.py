"""GPUs by name: how many SMs, how fast the memory, which compute capability, and who says so."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from exonerate.errors import ExonerateError

SMS_MAX = 4096


@dataclass(frozen=True, slots=True)
class Gpu:
    """One product: `sms` are the SMs enabled on it, not those on the full die.

    `assumed` says that nobody named it.
    """

    name: str
    sms: int
    bandwidth_gb_s: float | None
    capability: str
    source: str
    assumed: bool = False


_BLACKWELL_PRO = "NVIDIA RTX Blackwell PRO GPU Architecture (white paper), table 1"
_BLACKWELL_RTX = "NVIDIA RTX Blackwell GPU Architecture (white paper)"
_HOPPER = "NVIDIA H100 Tensor Core GPU Architecture (white paper)"
_AMPERE = "NVIDIA A100 Tensor Core GPU Architecture (white paper)"
_ADA = "NVIDIA Ada GPU Architecture (white paper)"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture (white paper)"

GPUS: tuple[Gpu, ...] = (
    Gpu("RTX PRO 6000 Blackwell", 188, 1792.0, "12.0", _BLACKWELL_PRO),
    Gpu("GeForce RTX 5090", 170, 1792.0, "12.0", _BLACKWELL_RTX),
    # SMs as the driver reports them (pytorch/ao pull request 4002); bandwidth of the data sheet,
    # which that report puts at 7.67 TB/s.
    Gpu("B200", 148, 8000.0, "10.0", "NVIDIA DGX B200 data sheet; cudaGetDeviceProperties"),
    Gpu("H200 SXM", 132, 4800.0, "9.0", f"NVIDIA H200 data sheet; GH100 as in {_HOPPER}"),
    Gpu("H100 SXM", 132, 3350.0, "9.0", f"{_HOPPER}; H100 data sheet"),
    Gpu("H100 PCIe", 114, 2000.0, "9.0", f"{_HOPPER}; H100 data sheet"),
    Gpu("A100 SXM 80GB", 108, 2039.0, "8.0", f"{_AMPERE}; A100 80GB data sheet"),
    Gpu("A100 SXM 40GB", 108, 1555.0, "8.0", _AMPERE),
    Gpu("RTX 6000 Ada", 142, 960.0, "8.9", _BLACKWELL_PRO),
    Gpu("L40S", 142, 864.0, "8.9", "NVIDIA L40S data sheet (18,176 CUDA cores, 128 per SM)"),
    Gpu("L4", 58, 300.0, "8.9", "NVIDIA L4 data sheet; AD104 as in the Ada white paper"),
    Gpu("GeForce RTX 4090", 128, 1008.0, "8.9", _ADA),
    Gpu("RTX A6000", 84, 768.0, "8.6", _BLACKWELL_PRO),
    Gpu("GeForce RTX 3090", 82, 936.0, "8.6", _GA102),
)


def gpu_named(name: str) -> Gpu:
    """The GPU of that name, written loosely; raises ExonerateError with the nearest names."""
    wanted = _words(name)
    exact = [gpu for gpu in GPUS if _words(gpu.name) == wanted]
    part = [gpu for gpu in GPUS if wanted and wanted <= _words(gpu.name)]
    found = exact or part
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        names = ", ".join(f"`{gpu.name}`" for gpu in found)
        raise ExonerateError(f"GPU `{name}` can be {names}", "name one of them in full")
    raise ExonerateError(f"GPU `{name}` is not in the table", _nearest(name))


def gpu_with_sms(sms: int) -> Gpu:
    """A GPU of which only the number of SMs is known."""
    if not 1 <= sms <= SMS_MAX:
        raise ExonerateError(
            f"{sms} SMs is not a GPU; a count is 1 to {SMS_MAX}",
            "give the number that `cudaGetDeviceProperties` reports, such as `--sms 188`",
        )
    return Gpu(f"{sms} SMs", sms, None, "", "given by the operator")


def _words(name: str) -> frozenset[str]:
    dropped = {"nvidia", "geforce", "gpu", "edition", "workstation", "server", "generation"}
    return frozenset(name.lower().replace("-", " ").replace("_", " ").split()) - dropped


def _nearest(name: str) -> str:
    names = {gpu.name.lower(): gpu.name for gpu in GPUS}
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.4)
    shown = [names[key] for key in close] or [gpu.name for gpu in GPUS]
    return "nearest: " + ", ".join(f"`{one}`" for one in shown) + "; or give `--sms N`"
