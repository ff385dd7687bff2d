"""Text between a value and the next delimiter is removed."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("stray_text")
