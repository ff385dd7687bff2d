"""Calls in Python's notation: f(a=1, b={"c": 2}), alone behind a tag or in a list; and in Gemma's braces:
call:f{key:<|"|>text<|"|>, n:1}, or with <escape> or single quotes round its strings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from webapp.parsing.calls import tags
from webapp.parsing.calls.tags import WrittenCall
from webapp.parsing.edit import Edit, Span
from webapp.parsing.machine.escapes import plain_text
from webapp.parsing.machine.tokens import CLOSERS, LITERALS, OPENERS
from webapp.parsing.patterns import later

REPAIR = "call_syntax"
OPENING = r"[A-Za-z_][\w.-]{0,80}+\(\s*(?:\)|[A-Za-z_]\w{0,80}+\s*=(?!=))"
"""Where a call begins: a name, a bracket, and a keyword or the closing bracket."""
_token = later(
    r"\s*(?:(?P<string>[rbuRBU]{0,2}(?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|\"(?:[^\"\\\n]|\\[\s\S])*+\"|'(?:[^'\\\n]|\\[\s\S])*+')|<\|\"\|>(?s:.*?)<\|\"\|>)"
    r"|(?P<number>(?:(?<!\w)[-+])?(?:\d[\d_]*+(?:\.[\d_]*+)?|\.\d++)(?:[eE][-+]?\d++)?)"
    r"|(?P<word>[A-Za-z_]\w*+)|(?P<mark>[()\[\]{},:=]))"
)
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_ESCAPES = dict(zip("ntrbfav\n\\'\"", ["\n", "\t", "\r", "\b", "\f", "\a", "\v", "", "\\", "'", '"'], strict=True))
_escape = later(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\s\S]))")


@dataclass(slots=True)
class _Reading:
    raw: str
    edits: list[Edit] = field(default_factory=list)
    open: list[str] = field(default_factory=lambda: ["call"])
    comma: int = -1
    keyword: bool = True

    def put(self, start: int, end: int, new: str) -> None:
        if self.raw[start:end] != new:
            self.edits.append(Edit(REPAIR, Span(start, end), self.raw[start:end], new))


def read_call(raw: str, start: int, end: int) -> WrittenCall:
    """The call whose name begins at `start`."""
    bracket = raw.index("(", start)
    name = raw[start:bracket].strip().removesuffix(".call")
    reading = _Reading(raw)
    reading.edits.append(Edit(REPAIR, Span(start, start), "", '{"name": "'))
    stem = start + len(name)
    reading.edits.append(Edit(REPAIR, Span(stem, bracket + 1), raw[stem : bracket + 1], '", "arguments": {'))
    at, problem = bracket + 1, None
    while reading.open:
        token = _token.match(raw, at, end)
        problem = _step(reading, token) if token else "it ends before its bracket closes, or holds what is no value"
        if not token or problem:
            return WrittenCall(name, Span(start, max(at, bracket + 1)), problem=problem)
        at = token.end()
    return WrittenCall(name, Span(start, at), tuple(reading.edits))


def _step(reading: _Reading, token: re.Match[str]) -> str | None:
    """Take one token; why it does not fit, in words, or None."""
    kind = token.lastgroup or ""
    start, end = token.span(kind)
    if kind == "mark":
        return _mark(reading, token[kind], start)
    reading.comma = -1
    if kind == "word" and reading.open[-1] == "call" and reading.keyword:
        reading.put(start, start, '"')
        reading.edits.append(Edit(REPAIR, Span(end, end), "", '"'))
        return None
    if reading.open[-1] == "call" and reading.keyword:
        return "an argument without a name"
    if kind == "word" and token[kind] not in _WORDS:
        return f"{token[kind][:40]} is a name, not a value"
    if kind == "word":
        reading.put(start, end, _WORDS[token[kind]])
    elif kind == "string":
        reading.put(start, end, as_json_string(token[kind]))
    else:
        number = float(token[kind]) if re.search("[.eE]", token[kind]) else int(token[kind].replace("_", ""))
        reading.put(start, end, token[kind] if _PLAIN.fullmatch(token[kind]) else json.dumps(number))
    return None


def _mark(reading: _Reading, mark: str, at: int) -> str | None:
    inside = reading.open[-1]
    if mark in "([{":
        reading.put(at, at + 1, "[" if mark == "(" else mark)
        reading.open.append(mark)
        reading.keyword = False
        return "an argument without a name" if inside == "call" and reading.raw[at - 1 : at].isalnum() else None
    if mark in ")]}":
        if inside != CLOSERS[mark] and not (inside == "call" and mark == ")"):
            return f"{mark!r} closes nothing"
        if reading.comma >= 0:
            reading.put(reading.comma, reading.comma + 1, "")
        reading.open.pop()
        reading.put(at, at + 1, "}}" if inside == "call" else "]" if mark == ")" else mark)
    elif mark == "=" or (inside == "call" and mark == ":"):
        if inside != "call" or not reading.keyword:
            return "an equals sign or a colon stands where a value belongs"
        reading.put(at, at + 1, ":")
        reading.keyword = False
        return None
    reading.comma = at if mark == "," else -1
    if mark == "," or mark in ")]}":
        reading.keyword = bool(reading.open) and reading.open[-1] == "call" and mark == ","
    return None


def as_json_string(text: str) -> str:
    """A Python string, or one in Gemma's quotes, as JSON: itself where it is one already."""
    if text[0] == "<":
        return json.dumps(text[5:-5], ensure_ascii=False)
    try:
        if text[0] == '"' and not text.startswith('"""') and isinstance(json.loads(text), str):
            return text
    except ValueError:
        pass
    prefix = len(text) - len(text.lstrip("rbuRBU"))
    raw = "r" in text[:prefix].lower()
    quotes = 3 if text[prefix : prefix + 3] in ('"""', "'''") and len(text) >= prefix + 6 else 1
    inner = text[prefix + quotes : -quotes]
    return json.dumps(inner if raw else _escape.sub(_unescaped, inner), ensure_ascii=False)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _ESCAPES.get(match[3], "\\" + match[3])


_PLAIN = later(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_BRACED = r"(?P<braced>[A-Za-z_](?:[\w.-]|:(?=\w)){0,120}+)"
BRACES_OPENING = rf"(?P<call>(?:call)?:){_BRACED}\{{"
_PIECE = (
    r"""\s*(?:(?P<quote><\|"\|>|<escape>)(?P<text>(?s:.*?))(?P<closing>(?P=quote))|(?P<string>"(?:[^"\\]|\\.)*+")"""
    r"""|(?P<single>'(?:[^'\\\n]|\\.|'(?!\s*[,:}\]]))*+')|(?P<mark>[{}\[\]:,])"""
)
_braces_key = later(_PIECE + r"""|(?P<bare>[^\s,:{}\[\]<"'][^,:{}\[\]<"'\n]{0,80}+)(?=:))""")
_braces_value = later(
    _PIECE + r"""|(?P<scalar>true|false|null|-?\d[\d.eE+-]*+)(?=\s*[,}\]])|(?P<word>True|False|None)(?=\s*[,}\]])"""
    r"""|(?P<bare>[^\s,{}\[\]<\n"][^,{}\[\]<\n"]{0,500}+)(?=[,}\]]))"""
)
_before_brace = later(rf"(?<![\w.])(?P<call>call:){_BRACED}\Z")
WIDTH = 180
"""So many characters before a brace may hold the name of its call."""


def opening_before(raw: str, at: int) -> re.Match[str] | None:
    """The beginning of the call whose arguments the brace at `at` opens."""
    low = max(0, at - WIDTH)
    is_named = raw[at - 1 : at].isalnum() or raw[at - 1 : at] == "_"
    return _before_brace.search(raw, low, at) if is_named and raw.find("call:", low, at) >= 0 else None


def read_braces(raw: str, match: re.Match[str], end: int) -> WrittenCall:
    """The call whose name `match` (of `BRACES_OPENING`) holds."""
    name = Span(*match.span("braced"))
    start, at = match.start("call"), name.end + 1
    edits = [
        Edit(tags.REPAIR, Span(start, name.start), raw[start : name.start], '{"name": "'),
        Edit(tags.REPAIR, Span(name.end, name.end), "", '", "arguments": '),
    ]
    opened, last = ["{"], "{"
    while opened:
        token = (_braces_key if opened[-1] == "{" and last in "{," else _braces_value).match(raw, at, end)
        if not token or (token["mark"] in ("}", "]") and token["mark"] != OPENERS[opened[-1]]):
            return WrittenCall(name.of(raw), Span(start, at), problem="its arguments cannot be read")
        edits += _rewritten(raw, token)
        at, last = token.end(), token["mark"] or "v"
        if last in "{[":
            opened.append(last)
        elif last in "}]":
            opened.pop()
    edits.append(Edit(tags.REPAIR, Span(at, at), "", "}"))
    return WrittenCall(name.of(raw), Span(start, at), tuple(edits))


def _rewritten(raw: str, token: re.Match[str]) -> list[Edit]:
    """The edits that make JSON of one token."""
    kind = token.lastgroup
    if kind in ("single", "word"):
        text = token[kind]
        new = as_json_string(text) if kind == "single" else LITERALS[text]
        return [Edit(tags.REPAIR, Span(*token.span(kind)), text, new)]
    if kind == "closing":
        text, before, after = (Span(*token.span(group)) for group in ("text", "quote", "closing"))
    elif kind == "bare":
        start = token.start("bare")
        text = Span(start, start + len(token["bare"].rstrip()))
        before, after = Span(start, start), Span(text.end, text.end)
    else:
        return []
    opening, closing = (Edit(tags.REPAIR, quote, quote.of(raw), '"') for quote in (before, after))
    return [opening, *plain_text(raw, text, tags.REPAIR), closing]


def holds_as_argument(raw: str, at: int, before: str) -> bool:
    """Whether the bracket at `at` is an argument of a call: a later one, or in a longer line an array or bare keys.

    `before` is what its line has before it: nothing where the line above opens the call, or ends in an operator.
    """
    is_bare = raw[at] != "{" or _bare_member.match(raw, at) is not None
    if not before.strip("( \t"):
        return is_bare and _line_above.search(raw, max(0, at - 160), at) is not None
    if raw[at - 1 : at] == "(":
        is_nested = before.count("(") > before.count(")") + 1
        return (is_bare or is_nested) and _only_argument.search(before) is not None
    return raw[at - 1 : at] in ", '\"" and "(" in before and _argument.search(before) is not None


_bare_member = later(
    r"""\{\s{0,60}+(?:[A-Za-z_$]|(["'])[^"'\n]{1,60}+\1:\s++(?!(?i:true|false|none|null)\b)[A-Za-z_])"""
)
_line_above = later(r"(?:\w\((?:(?:[^()\n]|\([^()\n]*+\))*,)?+|\|\||&&|[\w)\]] [=?+]|=>)[ \t]*+\n[ \t]++\(?\Z")
_only_argument = later(r"(?:\S\s++|[^\w\s])\w++\(\Z")
_argument = later(
    r"""(?:[A-Za-z_]|VALUES )[(\[](?:[^()"\n]|"[^"\n]{0,80}+"|\([^()\n]{0,80}\)){1,100},\s?['"]?\Z"""
    r"""|(?:\S\s++|[^\w\s])\w++\(\w++: \Z"""
)
