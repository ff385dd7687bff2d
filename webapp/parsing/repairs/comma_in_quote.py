"""A comma that slipped inside the closing quote moves behind it."""

from __future__ import annotations

from webapp.parsing.repair import Repair

plugin = Repair("comma_in_quote")
