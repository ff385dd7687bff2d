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
        name, quicken = makers[kind]
        for first, last, new in quicken(raw, *match.span(kind)):
            edits.append(as_edit((name, as_span((first, last)), raw[first:last], new)))
    return at, edits


@cache
def _makers() -> dict[str, tuple[str, Quicken]]:
    return {
        f"q{index}": (repair.name, repair.quicken)
        for index, repair in enumerate(repairs().values())
        if repair.quick and repair.quicken
    }


@cache
def _pattern() -> re.Pattern[str]:
    """Clean tokens, as many as there are, and then one plain defect or nothing."""
    by_index = list(repairs().values())
    parts = [f"(?P<{group}>{by_index[int(group[1:])].quick})" for group in _makers()]
    return re.compile(_CLEAN + f"(?:{'|'.join(parts)})?+")
