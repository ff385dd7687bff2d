"""The whole response, as it is."""

from __future__ import annotations

from webapp.parsing.strategy import Strategy

plugin = Strategy("whole")
