"""A closing bracket that closes nothing is removed."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("extra_closer")
