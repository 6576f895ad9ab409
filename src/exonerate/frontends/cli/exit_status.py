"""The exit statuses of every command; commands return them, `main` leaves with them."""

from __future__ import annotations

DONE = 0
FINDING = 1
OPERATOR = 2
INSUFFICIENT = 3
DEFECT = 4
INTERRUPTED = 130
