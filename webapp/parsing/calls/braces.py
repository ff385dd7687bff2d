"""Calls in Gemma's notation: call:f{key:<|"|>text<|"|>, n:1}, or with <escape> or single quotes round its strings."""

from __future__ import annotations

import re

from webapp.parsing.calls.pythonic import as_json_string
from webapp.parsing.calls.xml import REPAIR, Call, escaped
from webapp.parsing.edit import Edit
from webapp.parsing.machine.tokens import LITERALS
from webapp.parsing.patterns import later
from webapp.parsing.span import Span

OPENING = r"(?P<call>call:)(?:[A-Za-z_][\w.]{0,80}+:)?(?P<braced>[A-Za-z_][\w.-]{0,80}+)\{"
_TEXT = r"""\s*(?:(?P<quote><\|"\|>|<escape>)(?P<text>(?s:.*?))(?P<closing>(?P=quote))|(?P<string>"(?:[^"\\]|\\.)*+")"""
_TEXT += r"""|(?P<single>'(?:[^'\\\n]|\\.|'(?!\s*[,:}\]]))*+')|(?P<mark>[{}\[\]:,])"""
_key = later(_TEXT + r"""|(?P<bare>[^\s,:{}\[\]<"'][^,:{}\[\]<"'\n]{0,80}+)(?=:))""")
_value = later(
    _TEXT + r"""|(?P<scalar>true|false|null|-?\d[\d.eE+-]*+)(?=\s*[,}\]])|(?P<word>True|False|None)(?=\s*[,}\]])"""
    r"""|(?P<bare>[^\s,{}\[\]<\n"][^,{}\[\]<\n"]{0,500}+)(?=[,}\]]))"""
)
_before = later(r"(?<![\w.])" + OPENING[:-2] + r"\Z")
WIDTH = 180
"""So many characters before a brace may hold the name of its call."""


def opening_before(raw: str, at: int) -> re.Match[str] | None:
    """The beginning of the call whose arguments the brace at `at` opens."""
    low = max(0, at - WIDTH)
    is_named = raw[at - 1 : at].isalnum() or raw[at - 1 : at] == "_"
    return _before.search(raw, low, at) if is_named and raw.find("call:", low, at) >= 0 else None


def read_braces(raw: str, match: re.Match[str], end: int) -> Call:
    """The call whose name `match` (of `OPENING`) holds."""
    name = Span(*match.span("braced"))
    start, at = match.start("call"), name.end + 1
    edits = [
        Edit(REPAIR, Span(start, name.start), raw[start : name.start], '{"name": "'),
        Edit(REPAIR, Span(name.end, name.end), "", '", "arguments": '),
    ]
    opened, last = ["{"], "{"
    while opened:
        token = (_key if opened[-1] == "{" and last in "{," else _value).match(raw, at, end)
        if not token or (token["mark"] in ("}", "]") and token["mark"] != {"{": "}", "[": "]"}[opened[-1]]):
            return Call(name.of(raw), Span(start, at), problem="its arguments cannot be read")
        edits += _rewritten(raw, token)
        at, last = token.end(), token["mark"] or "v"
        if last in "{[":
            opened.append(last)
        elif last in "}]":
            opened.pop()
    edits.append(Edit(REPAIR, Span(at, at), "", "}"))
    return Call(name.of(raw), Span(start, at), tuple(edits))


def _rewritten(raw: str, token: re.Match[str]) -> list[Edit]:
    """The edits that make JSON of one token."""
    kind = token.lastgroup
    if kind in ("single", "word"):
        text = token[kind]
        new = as_json_string(text) if kind == "single" else LITERALS[text]
        return [Edit(REPAIR, Span(*token.span(kind)), text, new)]
    if kind == "closing":
        text, before, after = (Span(*token.span(group)) for group in ("text", "quote", "closing"))
    elif kind == "bare":
        start = token.start("bare")
        text = Span(start, start + len(token["bare"].rstrip()))
        before, after = Span(start, start), Span(text.end, text.end)
    else:
        return []
    opening, closing = (Edit(REPAIR, quote, quote.of(raw), '"') for quote in (before, after))
    return [opening, *escaped(raw, text), closing]
