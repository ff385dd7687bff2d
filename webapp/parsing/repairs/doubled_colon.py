"""A colon after a colon is removed."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("doubled_colon")
