"""JSON written as the inside of a string loses one layer of backslashes."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("escaped_json")
