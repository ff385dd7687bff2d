"""A string in typographic quotes is put in double quotes."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("smart_quotes")
