"""Fencepost: a debugger for the moment an LLM's answer should have become JSON and did not."""

__version__ = "0.1.0"
