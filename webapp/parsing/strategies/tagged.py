"""Values behind a tag that says what they are: <tool_call>, <function=…>, [TOOL_CALLS], <answer>, <observation> …"""

from __future__ import annotations

import re

from webapp.parsing.calls import markup
from webapp.parsing.calls.markup import Mark
from webapp.parsing.finder import Finder
from webapp.parsing.strategies import called
from webapp.parsing.strategy import Strategy

FAR = 100_000
"""So far a closing tag is looked for."""


def take(finder: Finder, match: re.Match[str]) -> int:
    """Remember what the tag says of the values behind it; calls in Python's notation right behind it are taken here."""
    kind = markup.kind_of(match[0])
    if kind == markup.END:
        finder.mark = Mark()
    elif kind:
        end = _closing(finder, match)
        if kind != markup.QUOTED or end > 0:
            finder.mark = Mark(kind, match[0].strip(), match.end(), end)
        if kind == markup.CALL:
            return called.take_calls(finder, match.end()) or match.end()
    return match.end()


def _closing(finder: Finder, match: re.Match[str]) -> int:
    """Where the closing tag stands, where it is near enough, else -1."""
    name = re.match(r"<([\w:]+)", match[0])
    raw, limit = finder.tracer.raw, min(finder.end, match.end() + FAR)
    return raw.find(f"</{name[1]}", match.end(), limit) if name else -1


plugin = Strategy("tagged", markup.TAG, "<[◁", 20, take)
