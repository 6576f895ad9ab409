"""Logs of hops: lines in, facts about requests out."""
