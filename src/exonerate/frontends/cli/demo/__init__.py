"""`exonerate demo`: the founding story on an embedded real engine, in a few minutes."""
