"""A string in single quotes is put in double quotes."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("single_quotes")
