"""Dump formats, one file each."""
