"""Keys and values without quotes."""

from __future__ import annotations

import re

from webapp.parsing.edit import NotJson
from webapp.parsing.machine import escapes
from webapp.parsing.machine.repair import mends
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import CLOSE, COLON, COMMA, LITERALS, MARK
from webapp.parsing.patterns import later

_STARTS = "".join(chr(code) for code in range(33, 127) if chr(code) not in ",:{}[]\"'`()") + "\x80"


@mends(
    "unquoted_key",
    r"(?::(?=[A-Za-z_]\w*+\s*+=>))?+[\w$@./-]++(?:[ ][\w$@./-]++){0,5}+(?P<quote>[\"'])?(?=(?:"
    + MARK
    + r")?\s*+(?:["
    + COLON
    + r"]|=))|[\w$-]++(?P<cut>)(?=\s*+(?:\Z|[\"'“‘\[{]))",
    "k",
    ":" + _STARTS,
    order=60,
    opens=r":[A-Za-z_]\w*+\s*+=>",
)
def unquoted_key(machine: Machine, match: re.Match[str]) -> bool:
    """A key without quotes gets them."""
    start, end = match.span()  # with the colon that begins a symbol of Ruby
    if match["quote"]:
        machine.patch("missing_quote", start, start, '"')
        if match["quote"] == "'":
            machine.patch("single_quotes", end - 1, end, '"')
    else:
        machine.patch("unquoted_key", start, start + (match[0][0] == ":"), '"')
        machine.patch("unquoted_key", end, end, '"')
    return machine.key_done(end)


_lost_opening = later(r"""(?:[^"\\\n]|\\[^"\n]){1,200}+\\"(?:[^"\\\n]|\\[^\n]){0,500}+"(?=\s*+[,}\]])""")
"""The text and the end of a string that holds quotes with backslashes, as no bare value does."""
LONGEST, SHORT = 2_000, 100
"""A longer bare value is cut there, which nothing that means to be JSON has; the shorter one once looking cost much."""
_CODE = later(r"[;{(]|\w!?\[|\bfor\b.{1,40}\bin\b|=>|\blambda\b|\bfunction\b|[\])]\s*[+*/-]")
_KEY = r"""\s{0,200}+(?:"[^"\n]{0,80}+"|'[^'\n]{0,80}+'|[A-Za-z_$][\w$-]{0,60}+|-?\d++(?=:\s))\s{0,20}+"""
_key = later(f"{_KEY}:(?!/)")
_behind_comma, _behind_comma_equals = (
    later(rf"(?:[ \t]{{1,20}}+(?://|\#)[^\n\"]{{0,200}}+)?+(?:{_KEY}{sign}|\s{{0,100}}+(?:[}}\]\n]|\Z))")
    for sign in (":(?!/)", "[:=](?![/=])")
)
"""What shows that the comma before it ends an object's bare value, and one that stands behind an equals sign."""


@mends(
    "unquoted_value",
    r":(?=[A-Za-z_]\w*+\s*+[,}\]])|[^\s,:{}\[\]\"'`“”‘’´«»()„‹›「」『』＂＇″′]",
    "v",
    ":" + _STARTS,
    order=90,
)
def unquoted_value(machine: Machine, match: re.Match[str]) -> bool:
    """A value without quotes that is no literal and no number becomes a string."""
    raw, start = machine.raw, match.start()
    if machine.look > 0 and raw.find('\\"', start, start + 200) > 0:
        machine.look -= 500
        if lost := _lost_opening.match(raw, start, machine.end):
            machine.patch("missing_quote", start, start, '"')
            machine.patches += escapes.inside(raw, start, lost.end() - 1)
            machine.value_done(lost.end())
            return True
    end = _end(machine, start)
    text = raw[start:end]
    code = _CODE.search(_braced.sub("", text) if "{" in text else text)
    if code and ("(" not in text or ")" not in text or not machine.lenient):
        raise NotJson(start + code.start(), "the value is program code")
    if not text:
        return False
    _quote(machine, start, end)
    return True


def _end(machine: Machine, at: int) -> int:
    """Where the bare value ends: at a bracket, a line's end, or a comma that a key or another item follows."""
    raw, item = machine.raw, machine.inside != "{"
    behind_comma = _behind_comma_equals if raw[max(0, at - 2) : at].rstrip()[-1:] == "=" else _behind_comma
    start, limit = at, min(machine.end, at + (LONGEST if machine.look > 0 else SHORT))
    while match := _stop.match(raw, at, limit):
        at = match.end()
        char = raw[at : at + 1]
        if char == "(":
            closed = _call.match(raw, at, machine.end)
            at = closed.end() if closed else at + 1
        elif char == ")" and machine.frames[-1].kind != "(":
            at += 1
        elif char == "{" and (braced := _braced.match(raw, at, machine.end)):
            at = braced.end()
        elif char and char in COMMA and not (item or behind_comma.match(raw, at + 1, machine.end)):
            at += 1
        else:
            break
    machine.look -= 16 * (at - start)
    while at > start and (raw[at - 1].isspace() or raw[at - 1] in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"):
        at -= 1
    return at


def _quote(machine: Machine, start: int, end: int) -> None:
    raw = machine.raw
    closed = raw[end : end + 1] == '"' and machine.end > end
    single = raw.find("'", start, end) == end - 1
    if scalar := _number.fullmatch(raw, start, end - single):
        if scalar["word"]:
            machine.patch("literal", start, scalar.end(), LITERALS[scalar["word"]])
        if closed or single:
            machine.patch("stray_text", scalar.end(), scalar.end() + 1)
        machine.value_done(scalar.end() + (closed or single))
        return
    closed = closed and not single and not _key.match(raw, end, machine.end)
    machine.patch("missing_quote" if closed or single else "unquoted_value", start, start, '"')
    machine.patches += escapes.together(raw, start, end, [*escapes.inside(raw, start, end)])
    if single:
        machine.patch("single_quotes", end - 1, end, '"')
    elif not closed:
        machine.patch("unquoted_value", end, end, '"')
        machine.truncated = machine.truncated or (end == machine.end and machine.final)
    machine.value_done(end + closed)


_number = later(r"-?(?:0|[1-9]\d*)(?:\.\d+)?|true|false|null|(?P<word>True|False|None)")
_stop = later(r"(?:[^" + COMMA + CLOSE + r"{\n\"()\\<]|<(?![|｜])|\\[^\n])*+")
_braced = later(r"\{[\w ]{1,80}+\}")
_call = later(r"\([^()\n\"]{0,200}+\)")


plugins = (unquoted_key, unquoted_value)
