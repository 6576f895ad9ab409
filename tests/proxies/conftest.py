"""Tests with real proxies, which a plain machine lacks: `make lab` runs them."""

import os

collect_ignore_glob = [] if os.environ.get("EXONERATE_PROXIES") else ["test_*.py"]
