"""A string that lacks its opening or closing quote gets it."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("missing_quote")
