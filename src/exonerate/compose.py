"""Wiring: the only file that knows concrete classes on both sides of the ports."""
