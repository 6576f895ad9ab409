"""What Exonerate calls itself: in headers, in records, in reports."""

from __future__ import annotations

VERSION = "0.1.0"
USER_AGENT = f"exonerate/{VERSION}"
