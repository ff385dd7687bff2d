"""A Python set becomes an array."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("set")
