"""A value behind a tool tag: <tool_call>, <function=…>, [TOOL_CALLS] and their like, closed or not."""

from __future__ import annotations

import re

from webapp.parsing import plausible, scan
from webapp.parsing.strategy import Strategy


def _take(finder: scan.Finder, match: re.Match[str]) -> int:
    raw, at = finder.tracer.raw, match.end()
    if at >= finder.end or raw[at] not in "{[":
        return at
    if plausible.why_not(raw, at, finder.end, lenient=True):
        return at
    return finder.consider("tagged", at, lambda: _limits(finder, match[0].strip(), at), scan.MARKED, match[0].strip())


def _limits(finder: scan.Finder, tag: str, at: int) -> list[int]:
    """The closing tag, where there is one near enough, and the region's end."""
    name = re.match(r"<([\w|]+)", tag)
    close = finder.tracer.raw.find(f"</{name[1]}", at, min(finder.end, at + 100_000)) if name else -1
    return [close, finder.end] if close > 0 else [finder.end]


plugin = Strategy(
    "tagged",
    r"<[A-Za-z|｜][^<>\n]{0,60}+>\s*+(?=[{\[])"
    r"|\[/?[A-Z][A-Z_]{2,30}\](?:[ \t\r\n]*+[a-z_]\w{0,60}(?=\{))?\s*+",
    "<[",
    20,
    _take,
)
