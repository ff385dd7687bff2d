"""A string in Python's triple quotes is put in double quotes."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("triple_quotes")
