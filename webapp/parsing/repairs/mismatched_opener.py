"""A bracket that opens an array of keys and values becomes the brace of an object."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("mismatched_opener")
