"""The sweep: one lexical pass for values whose only defects are small and plain, far faster than the machine."""

from __future__ import annotations

import re
from functools import cache

from webapp.parsing.edit import Edit
from webapp.parsing.machine.repair import Quicken, repairs
from webapp.parsing.machine.tokens import NUMBER, SPACE, STRING
from webapp.parsing.patch import as_edit, as_span

_CLEAN = (
    rf"(?:[ \t\r\n{{\[:]++|[}}\]]++|,(?!{SPACE}[,}}\]])|{STRING}(?={SPACE}[:,}}\]])"
    rf"|(?:{NUMBER}|true|false|null)(?={SPACE}(?:[,}}\]/#])))*+"
)


def sweep(raw: str, start: int, end: int) -> tuple[int, list[Edit]]:
    """Pass over clean tokens and plain defects from `start`; where neither follows, and the edits for the defects.

    What stands before that place is a candidate and no more: only decoding tells whether the edits were enough.
    """
    match_next, makers = _pattern().match, _makers()
    edits: list[Edit] = []
    at = start
    while match := match_next(raw, at, end):
        kind = match.lastgroup
        at = match.end()
        if kind is None:
            break
        for first, last, new in makers[kind](raw, *match.span(kind)):
            edits.append(as_edit((kind, as_span((first, last)), raw[first:last], new)))
    return at, edits


@cache
def _makers() -> dict[str, Quicken]:
    return {name: repair.quicken for name, repair in repairs().items() if repair.quick and repair.quicken}


@cache
def _pattern() -> re.Pattern[str]:
    """Clean tokens, as many as there are, and then one plain defect or nothing."""
    parts = [f"(?P<{name}>{repairs()[name].quick})" for name in _makers()]
    return re.compile(_CLEAN + f"(?:{'|'.join(parts)})?+")
