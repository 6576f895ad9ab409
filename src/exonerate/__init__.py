"""Exonerate finds the layer that is really to blame when an LLM service misbehaves."""
