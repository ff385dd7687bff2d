"""Windlass after its first fix: tool calls only in ```json fences, decoded as written (report 001)."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._windlass import blocks, call_tools


@dataclass(frozen=True)
class WindlassStrict:
    name: str = "windlass-strict"
    version: str = "1"

    def run(self, tracer: Tracer) -> None:
        call_tools(tracer, blocks(tracer.raw))


plugin = WindlassStrict()
