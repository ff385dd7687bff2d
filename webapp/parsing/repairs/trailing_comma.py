"""A comma before a closing bracket is removed."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("trailing_comma")
