"""Failure groups: failed responses come in as narrow rows, out go the kinds of failure, under any filters."""
