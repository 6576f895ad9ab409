"""What all tests share: property tests have no deadline, because a loaded machine is not a bug."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("exonerate", deadline=None)
settings.load_profile("exonerate")
