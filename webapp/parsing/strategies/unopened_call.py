"""A tool call in XML that lacks its opening tag: read if a separate line names the tool, else reported."""

from __future__ import annotations

import re

from webapp.parsing.calls import markup, xml
from webapp.parsing.finder import MARKED, Finder
from webapp.parsing.patterns import later
from webapp.parsing.strategies import called, tagged
from webapp.parsing.strategy import Strategy

_tag = later(markup.TAG)


def _take(finder: Finder, match: re.Match[str]) -> int:
    """Take the call, or say that it cannot be read; a single tag is one as others are."""
    raw, at = finder.tracer.raw, match.start()
    attempts = finder.tracer.attempts
    first = max((attempt.span.end for attempt in attempts[1:][-1:]), default=0)
    if call := xml.read_unopened(raw, first, at, finder.end):
        return called.take_call(finder, call, MARKED)
    tag = _tag.match(raw, at, finder.end)
    return tagged.take(finder, tag) if tag else match.end()


plugin = Strategy("unopened_call", xml.UNOPENED, "<", 18, _take)
