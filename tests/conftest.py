"""What all tests share: property tests are not timed, because a loaded machine is not a bug."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("exonerate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("exonerate")


def _heed_signals() -> None:
    """Undo what `nohup` or a shell's `&` left ignored, so that programs under test can be ended."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


_heed_signals()
