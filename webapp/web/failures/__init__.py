"""Failure groups: pages and JSON."""
