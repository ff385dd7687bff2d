"""A container that is still open where its value ends gets its closing bracket."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("missing_closer")
