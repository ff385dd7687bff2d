"""Strategies: ways to find candidates, one file each."""
