"""Speeds of decode attention, side by side, as text for a terminal."""

from __future__ import annotations

from exonerate.core.kernel_speed import SpeedReport


def text(speed: SpeedReport) -> str:
    """The whole report, without a newline at its end."""
    versions = ", ".join(f"{name} {version}" for name, version in speed.versions.items())
    lines = [
        f"{speed.device}, {speed.threads} threads; {versions}",
        f"memory in this run: copy {speed.copy_gb_s:.1f} GB/s (read + write), "
        f"read {speed.read_gb_s:.1f} GB/s",
        "",
        f"dtype implementation    median ms  least ms  KV GB/s  of read   speed / {speed.baseline}"
        " [quartiles]",
    ]
    for timing in speed.timings:
        lines.append(
            f"{timing.shape.dtype:<6}{timing.name:<18}{timing.median_ms:>9.2f}"
            f"{timing.least_ms:>10.2f}{timing.kv_gb_s:>9.2f}"
            f"{timing.kv_gb_s / speed.read_gb_s:>9.0%}   "
            f"{timing.ratio:.3f} [{timing.ratio_low:.3f}, {timing.ratio_high:.3f}]"
            f"  n={timing.rounds}{'; ' + timing.note if timing.note else ''}"
        )
    if speed.not_measured:
        lines += ["", "Not measured", *(f"  {item}" for item in speed.not_measured)]
    return "\n".join(lines)
