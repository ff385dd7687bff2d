"""A string in backticks, a JavaScript template for example, is put in double quotes."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("backticks")
