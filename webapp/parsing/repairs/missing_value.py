"""A key without a value gets null, or is dropped where the policy says so."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("missing_value")
