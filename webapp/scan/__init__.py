"""Scan: the logs of agents on this machine, or in a folder, held against a fixed list of checks; no database, pure."""
