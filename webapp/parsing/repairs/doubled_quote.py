"""A quote written twice at the ends of a string is written once."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("doubled_quote")
