"""JSON lines: one value a line, several lines in a row."""

from __future__ import annotations

from webapp.parsing.strategy import Strategy

plugin = Strategy("lines")


def on_a_line(raw: str, last: int, start: int) -> bool:
    """Whether a value that begins at `start` stands on the line right after the one where the last ended."""
    return last > 0 and raw[last:start].strip(" \t\r,;") == "\n"
