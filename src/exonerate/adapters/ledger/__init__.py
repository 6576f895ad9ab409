"""The ledger on a disk: `open_ledger(path or postgresql:// URL, clock=...)`."""

from exonerate.adapters.ledger.sql_ledger import SqlLedger, open_ledger

__all__ = ["SqlLedger", "open_ledger"]
