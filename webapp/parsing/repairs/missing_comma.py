"""Two values or members without a comma between them get one."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("missing_comma")
