"""A quote inside a string that does not close it is escaped."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("unescaped_quote")
