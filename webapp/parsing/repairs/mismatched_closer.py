"""A closing bracket of the wrong kind becomes the right one."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("mismatched_closer")
