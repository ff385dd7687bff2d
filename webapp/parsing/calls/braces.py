"""Calls in Gemma's notation: call:f{key:<|"|>text<|"|>, n:1}, or with <escape> round its strings."""

from __future__ import annotations

import re

from webapp.parsing.calls.xml import REPAIR, Call, escaped
from webapp.parsing.edit import Edit
from webapp.parsing.patterns import later
from webapp.parsing.span import Span

OPENING = r"(?P<call>call:)(?:[A-Za-z_][\w.]{0,80}+:)?(?P<braced>[A-Za-z_][\w.-]{0,80}+)\{"
_token = later(
    r'\s*(?:(?P<quote><\|"\|>|<escape>)(?P<text>(?s:.*?))(?P<closing>(?P=quote))|(?P<string>"(?:[^"\\]|\\.)*+")'
    r"|(?P<key>[A-Za-z_$][\w$.-]*+)(?=\s*:)|(?P<scalar>true|false|null|-?\d[\d.eE+-]*+)(?=\s*[,}\]])"
    r"|(?P<mark>[{}\[\]:,])|(?P<bare>[^,{}\[\]<\n\"]{1,500}+)(?=[,}\]]))"
)


def read_braces(raw: str, match: re.Match[str], end: int) -> Call:
    """The call whose beginning `match` (of `OPENING`) holds."""
    name = Span(*match.span("braced"))
    start = match.start("call")
    edits = [
        Edit(REPAIR, Span(start, name.start), raw[start : name.start], '{"name": "'),
        Edit(REPAIR, Span(name.end, match.end() - 1), "", '", "arguments": '),
    ]
    at, depth = match.end(), 1
    while depth:
        token = _token.match(raw, at, end)
        if not token:
            return Call(name.of(raw), Span(start, at), problem="its arguments cannot be read")
        edits += _rewritten(raw, token)
        at = token.end()
        depth += (token["mark"] in ("{", "[")) - (token["mark"] in ("}", "]"))
    edits.append(Edit(REPAIR, Span(at, at), "", "}"))
    return Call(name.of(raw), Span(start, at), tuple(edits))


def _rewritten(raw: str, token: re.Match[str]) -> list[Edit]:
    if token["quote"]:
        text, before, after = (Span(*token.span(group)) for group in ("text", "quote", "closing"))
    elif token["key"] or token["bare"]:
        start = token.start("key" if token["key"] else "bare")
        text = Span(start, start + len((token["key"] or token["bare"]).rstrip()))
        before, after = Span(start, start), Span(text.end, text.end)
    else:
        return []
    opening, closing = (Edit(REPAIR, quote, quote.of(raw), '"') for quote in (before, after))
    return [opening, *escaped(raw, text), closing]
