"""A key in the middle of an array gets the brace that opens its object."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("missing_opener")
