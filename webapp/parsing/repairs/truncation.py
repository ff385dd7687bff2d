"""What was cut off at the end and of which nothing can be kept is removed."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("truncation")
