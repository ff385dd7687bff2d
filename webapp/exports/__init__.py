"""Exports: stored sessions and labels become bytes; pure."""
