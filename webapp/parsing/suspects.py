"""Which single characters of a text may be to blame where decoding fails: one that is lost, or stands for another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webapp.parsing.machine import string_quotes
from webapp.parsing.machine.tokens import ASCII, LITERAL, SCALAR, STRING, bracket, place_of_opener
from webapp.parsing.patterns import later


def changes(text: str, failed: int) -> Iterator[tuple[int, int, str]]:
    """Where the text may be changed, how many of its characters go there, and which one comes; the likeliest first."""
    yield from ((at, 1, char) for at, char in _mistaken(text, failed))
    yield from ((at.start(), 2, at[0][::-1]) for at in _swapped.finditer(text, max(0, failed - 40), failed + 3))
    yield from ((at, 0, char) for at, char in _lost(text, failed))
    if _mark.match(text, failed) and not _is_comment(text, failed):
        yield failed, 1, ""


def _mistaken(text: str, failed: int) -> Iterator[tuple[int, str]]:
    """Where a character may stand in the place of another, and of which, or of none; the likeliest first."""
    char = ASCII.get(text[failed : failed + 1], text[failed : failed + 1])
    if char and char in ";:.,=|" and not _set.match(text, max(open_bracket(text, 0, failed), 0)):
        yield from ((failed, twin) for twin in (":," if char in "=," else ",:"))
    if char and char in "}])":
        yield from ((failed, other) for other in "}]" if other != char)
    if char == '"' and _ended_scalar.search(text, max(0, failed - 40), failed):
        yield failed, ""
    closing = text.find('"', failed + 1) if char and char in "'`“”„" and not text.startswith("``", failed) else -1
    if closing > 0 and string_quotes.is_alone(text, failed, closing):
        yield failed, '"'
    low = max(0, failed - 400)
    if first := _first_token.search(text, low, failed):
        yield first.start(), "[" if first[0][0] == "{" else "{"
    if opening := text.rfind('"', low, max(low, failed - 1)) + 1:
        quotes = [match.start() for match in _other_quote.finditer(text, opening, failed + 60)]
        inner = [at for at in quotes if at < failed and string_quotes.is_alone(text, opening, at + 1)]
        yield from ((at, '"') for at in inner[:4])


def _is_comment(text: str, at: int) -> bool:
    """Whether the mark at `at` is a hash that white space parts, as a comment that holds whole values."""
    if text[at] != "#" or not text[at - 1].isspace():
        return False
    end = text.find("\n", at)
    line = text[at : end if end >= 0 else len(text)]
    return line.count("{") + line.count("[") == line.count("}") + line.count("]")


_mark = later(r"[*`_~^.;|:,#-](?!\w)")
_swapped = later(r'(?<=[^\s"\\,{\[:]):"|(?<![\w"])[^\W\d_bBfFrRuU\u1100-\uffff]"(?=\w)|(?<=\w)"[^\W\d_](?=\s*+[,:}\]])')
"""A quote that stands in the place of what belongs before or behind it: `"a:" 1`, `o"ne"`."""


def open_bracket(text: str, start: int, end: int) -> int:
    """The innermost bracket of `text[start:end]` that is open at its end, or -1."""
    opened: list[int] = []
    for token in bracket.finditer(text, start, end):
        if token[0] in "{[":
            opened.append(token.start())
        elif token[0] in "}]" and opened:
            opened.pop()
    return opened[-1] if opened else -1


_set = later(rf"\{{\s*+{STRING}(?:\s*+,\s*+{SCALAR})++\s*+\}}|\[\s*+{STRING}\s*+:")
_ended_scalar = later(r"[\[:,]\s*+(?:-?\d[\d.]*+|true|false|null)\Z")
_first_token = later(rf"[{{\[]\s*+(?:{STRING}\s*+)?+\Z")
_other_quote = later(r"""(?<!``)['`“”](?=\s{0,60}+[:,}\]])|(?<=[\s\[{:,])['`“”„]""")
_key_next = later(r'"[^"\\\n]{1,80}+"\s*+:')
_bare_text = later(r'(?![-\d\s"{}\[\],:“”„‘’′«»「」『』]|\\")(?:[^"\\\n]|\\.){1,500}+"(?=\s*+[,:}\]])')
_half_quoted = later(r'„[^"“”\n]*",\Z')
_scalar = later(r"-?\d[\d.eE+-]*+|true|false|null")
_begins_item = later(rf"[{{\[]|(?<![\w.])(?:{LITERAL}|-?\d)")
_before_bracket = later(r":[ \t]*+(?=\s*+[{\[])")
_before_value = later(r"[:,\[{]\s*+(?=[^\s])")
_items = later(rf":[ \t]*+(?P<first>\s*+(?:{SCALAR}\s*+,\s*+)*+(?:{SCALAR}\s*+)?+)\Z")
_bare_row = later(rf"\],\s*+(?P<first>{SCALAR}(?:\s*+,\s*+{SCALAR})++)\s*+\]\s*+\Z")
_lone_comma = later(r"\n[ \t]*+(?=,|\n)")
_first_indent = later(r"[{\[]\n([ \t]++)")
_lower_line = later(r"\n(?P<deep>[ \t]++)[^\n]*?[^\s,{\[](?P<comma>,?)(?=\n(?P<next>[ \t]*+)[}\]\"])")
"""A line, and how far the next one is indented: less than it may be where the line of a closer is lost."""
_bare_colon = later(r":[ \t]*+(?=\n)")


def _lost(text: str, failed: int) -> Iterator[tuple[int, str]]:
    """Where a character may be lost, and which, the likeliest first."""
    low = max(0, failed - 400)
    char = text[failed : failed + 1]
    if char == "\n":
        yield failed - (text[failed - 1] == ","), '"'
    before = text[low:failed].rstrip()
    begins = _begins_item.match(text, failed)
    ended = before[-1:] not in ',:[{"' or (before[-2:] != ',"' and _key_next.match(text, failed))
    if (begins or char == '"') and ended:
        yield low + len(before), ","
    if char == "}" and before[-1:] == ":":
        yield failed, "{"
    if char and char in "]," and before[-1:] in ":[,{":
        yield failed, "[" if char == "]" else "}" if before[-1:] == "{" else "]"
    if (begins or (char and char in "],")) and (items := _items.search(text, low, failed) or bare_row(text, failed)):
        yield place_of_opener(text, items.start("first")), "["
    if char and char in "{[" and before[-1:] == ",":
        yield from ((match.end(), "[") for match in [*_before_bracket.finditer(text, low, failed)][-4:][::-1])
    if char == ":" and text[failed - 1] == '"':
        key = text.rfind('"', low, failed - 1)
        if key > 0 and text[low:key].rstrip()[-1:] in (":", ","):
            yield place_of_opener(text, key), "{"
    if char == '"' or (_bare_text.match(text, failed) and not _half_quoted.search(before)):
        values = [match.end() for match in _before_value.finditer(text, low, failed + 1)][-3:][::-1]
        yield from ((at, '"') for at in values if text[at] != '"' and not _scalar.fullmatch(text, at, failed))
    if char and text[failed - 1] == '"' and char not in ",:}]":
        yield from _closing_quotes(text, low, failed)
    for match in _bare_colon.finditer(text, max(0, failed - 4_000), failed):
        yield match.end(), "{" if text[match.end() :].lstrip()[:1] == '"' else "["
        yield match.end(), "["
    lone = [match.end() for match in _lone_comma.finditer(text, max(0, failed - 20_000), failed)][-3:][::-1]
    unit = len(indented[1]) if (indented := _first_indent.match(text)) else failed
    rows = _lower_line.finditer(text, max(0, failed - 20_000), failed)
    lower = [row.start("comma") for row in rows if len(row["deep"]) - len(row["next"]) > (0 if row["comma"] else unit)]
    yield from ((at, closer) for at in lone + lower[:4] for closer in "}]")
    if begins and before[-1:] == ",":
        yield low + len(before) - 1, "}"


def bare_row(text: str, failed: int) -> re.Match[str] | None:
    """A row among rows that lacks its bracket before `failed`: `["a", 1], "b", 2]]`."""
    return _bare_row.search(text, max(0, failed - 400), failed)


def _closing_quotes(text: str, low: int, failed: int) -> Iterator[tuple[int, str]]:
    """The string before `failed` swallowed what follows it: it may end before each comma, colon or closer in it."""
    opening = text.rfind('"', low, failed - 1)
    for match in list(_delimiter.finditer(text, opening + 1, failed - 1))[:6]:
        if text[match.start() - 2 : match.start()] != '\\"':
            yield match.start(), '"'


_delimiter = later(r"\s*+[,:}\]]")
