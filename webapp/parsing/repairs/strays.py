"""What stands between two tokens and is part of neither: comments, dots, marks, fences, text."""

from __future__ import annotations

import re

from webapp.parsing.edit import NotJson
from webapp.parsing.machine.repair import mends
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import LETTERS, LITERAL, LITERALS, MARK, NUMBER, QUOTED, SCALAR, SPACE, TYPESET
from webapp.parsing.patterns import later

_SPACES = "\x0b\x0c\x1c-\x1f\x85\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
_STARTS = "\x0b\x0c\x1c\x1d\x1e\x1f\x80"
LONGEST = 20_000
"""So far the end of a line, or of a comment in HTML, is looked for."""


@mends("comment", r"//|/\*|#|<!--|<think>|--(?=[ \t][^\n\"'{}\[\]]{1,200}+\n)", "kcva", "/#<-", order=5)
def comment(machine: Machine, match: re.Match[str]) -> bool:
    """A comment, of JavaScript, C, Python, SQL or HTML, or a thought, is removed."""
    no_comment = _word if machine.state == "v" else _mark
    if match[0] == "#" and no_comment.match(machine.raw, machine.at, machine.end):
        return False
    end = _end(machine.raw, match, machine.end)
    if end < 0:
        return False
    is_cut = match[0] in ("//", "#") and end == machine.end
    if is_cut and (closer := _closer_comment.search(machine.raw, match.start(), end)):
        end = closer.start()  # a line comment that no line's end ends: the value goes on with the bracket
    machine.at = end
    while machine.raw[end - 1].isspace():
        end -= 1
    machine.patch("comment", match.start(), end)
    return True


def _end(raw: str, match: re.Match[str], limit: int) -> int:
    """Where the comment ends that began with what the pattern matched, or -1."""
    far = limit if match[0] == "/*" else min(limit, match.end() + LONGEST)
    closing = _CLOSING.get(match[0], "\n")
    end = raw.find(closing, match.end(), far)
    if end < 0:
        return -1 if match[0][0] == "<" else far
    return end + len(closing.strip())


_CLOSING = {"/*": "*/", "<!--": "-->", "<think>": "</think>"}
"""What ends a comment that its line's end does not."""
_word = later(r"""#[\w-]{2,40}+(?=[ \t]*+(?:[}\]]|,[ \t]*+(?:["'}\]\n#]|\Z)))|#[\da-fA-F]{3,8}+\s*+[,}\]]""")
"""A colour or a tag, which is a value: `#ff8800`."""
_mark = later(r"(?<=[\"'\w}\]])#(?=[,:}\]])")
"""A stray mark between a token and what follows it: `"x"#}`."""
_closer_comment = later(r"\s{0,100}+[}\]]")


@mends(
    "ellipsis",
    r"(?:(?:\.{3,}|…)(?:[ ]\(?(?!\d++\s*+[,\]])[a-z\d][\w ]{1,40}+\)?)?+|\[\.\.\.\]|<\.\.\.>)"
    r"(?=\s*+(?:[,}\]]|//|/\*|\Z))|\.{3} (?P<one>)(?=-?\d[\d.]*+\s*+[,\]])",
    "kva",
    ".…[<",
    order=8,
)
def ellipsis(machine: Machine, match: re.Match[str]) -> bool:
    """Dots that stand for what was left out are removed; what they stand for is unknown."""
    after = match.end()
    if not machine.frames:
        raise NotJson(after, "dots stand for all of it")
    if machine.state == "v" and machine.inside == "{":
        return False
    start = match.start()
    if match["one"] is not None and machine.state == "v":
        return machine.replace("ellipsis", match)
    if machine.comma >= 0:
        machine.unpatch(machine.comma, machine.comma + 1)
        start = machine.comma
        machine.comma, machine.state = -1, "a"
    elif machine.state in "kv" and (comma := _comma.match(machine.raw, after, machine.end)):
        after = comma.end()
    machine.patch("ellipsis", start, after)
    machine.at = after
    return True


_comma = later(r"\s{0,100}+,")


@mends(
    "fence_inside",
    r"```[A-Za-z]{0,12}+(?:\s*+(?:[^`\n{}\[\]\"]{1,80}+\n\s*+)?```[A-Za-z]{0,12}+)?(?=\s*+[\[{}\],\"])",
    "kva",
    "`",
    order=10,
)
def fence_inside(machine: Machine, match: re.Match[str]) -> bool:
    """A Markdown fence between two tokens is removed."""
    if machine.state == "a" and not _closer_fence_inside.match(machine.raw, match.end(), machine.end):
        return False
    return machine.replace("fence_inside", match)


_closer_fence_inside = later(r"\s*+[\]},]")


_WORD = f"true|false|null|{'|'.join(LITERALS)}"
_SCALAR = rf"(?:{NUMBER}|{_WORD})"
_END = rf"(?=(?:{MARK}|\n>)?+{SPACE}[,}}\]])"
_behind = {
    "k": later(rf"{SPACE}{QUOTED}(?:{MARK})?+{SPACE}:"),
    "c": later(rf"{SPACE}:"),
    "v": later(
        rf"""{SPACE}["'\[{{{TYPESET}]|(?:(?<![<>])|(?<=\n>)|(?<=[|｜]>))"""  # `>18` may be meant, `\n>` quotes it
        rf"(?:(?<![.~-])[ \t]*+|(?<=\.\.|~~|--)|[ \t\n]++|(?=-)){_SCALAR}{_END}"
        rf"|[ \t]*+(?:{_WORD}){_END}"
    ),
    "a": later(rf"{SPACE}(?:[,}}\]]|(?<!>)\Z)"),
}


@mends(
    "stray_mark",
    rf"(?P<label>\d{{1,3}}[.)][ ]++(?=[\"'{{\[]))|(?P<scalar>{_SCALAR}(?!\.)|-?\d++\.\d++|{_WORD})(?:{MARK}|:){_END}"
    rf"|[*`_\\^;|~.]{{1,3}}+(?=-\d)|-(?=-\d)|<(?:[|｜][\w▁]{{1,40}}+[|｜]|/think)>|{MARK}",
    "kcva",
    "*`_~\\^.;|#<>-0123456789tfnTFN",
    order=18,
    opens=rf"(?:{MARK}{SPACE}\{{?|\{{{SPACE}{MARK}){SPACE}{QUOTED}(?:{MARK})?+\s*+:"
    rf"|{MARK}[ ]?\n{SPACE}{SCALAR}{SPACE}[,\]]",
)
def stray_mark(machine: Machine, match: re.Match[str]) -> bool:
    """Marks beside a token that belong to none, as Markdown or a slip of the model leaves them, are removed, and
    numbers of a list: `*"a"*: 1`, `[1. "a"]`.
    """
    if match["label"]:
        return machine.inside == "[" and machine.state == "v" and machine.replace("stray_mark", match)
    scalar = match["scalar"]
    is_alone = not scalar and machine.inside == "[" and machine.comma < 0 and not machine.frames[-1].count
    if is_alone and _empty.match(machine.raw, match.end(), machine.end):
        return machine.replace("stray_mark", match)
    if not (scalar or _behind[machine.state].match(machine.raw, match.end(), machine.end)):
        return False
    start = match.start() + len(scalar or "")
    if scalar in LITERALS:
        machine.patch("literal", match.start(), start, LITERALS[scalar])
    machine.patch("stray_mark", start, match.end())
    machine.at = match.end()
    if scalar:
        machine.value_done(machine.at)
        machine.last = start
    return True


_empty = later(rf"{SPACE}\]")
_QUOTES = r"\"{2,4}(?=\s{1,20}+\"[^\"\n]{1,80}+\"\s{0,20}+:)"
_KEY = r"""(["'])[^"'\n]{1,80}+\1\s{0,20}+:"""


@mends(
    "stray_text",
    rf"[A-Za-z_(][\w .,()'-]{{0,60}}+(?:(?<=\s)|\n\s*+)(?={_KEY})|{_QUOTES}"
    r"|(?P<item>[A-Za-z_][\w .():'-]{0,60}+(?<=\s)(?=[{\[])"
    rf"|(?:[A-Za-z_][\w .():'-]{{0,60}}+\n|\([^()\n\"]{{1,60}}+\))\s{{0,60}}+(?=[\"{{\[\d-]|{LITERAL}))"
    r"|(?P<letters>[^\W\d_A-Za-z]{1,3}+(?=[{\[]|\"[^\s,:}\]]))",
    "kv",
    f'("{LETTERS}\x80',
    order=40,
)
def stray_text(machine: Machine, match: re.Match[str]) -> bool:
    """Text between two tokens that is part of neither is removed."""
    if match["letters"]:
        is_apart = machine.comma >= 0
    elif match["item"] is None:
        is_apart = machine.state == "k" and machine.frames[-1].count > 0
    else:
        is_note = match[0][0] == "(" or "\n" not in machine.raw[machine.comma : machine.at]
        is_apart = machine.comma >= 0 and machine.inside == "[" and is_note
    return is_apart and machine.replace("stray_text", match)


@mends("invisible_character", f"[{_SPACES}]+", "kcva", _STARTS, order=1)
def invisible_character(machine: Machine, match: re.Match[str]) -> bool:
    """A byte order mark, zero-width or exotic space between two tokens is removed."""
    return machine.replace("invisible_character", match)


_NO_LITERAL = r"(?!\\(?:true|null)\b)(?:\\[nrt])++"


@mends("escaped_space", rf"{_NO_LITERAL}(?:(?![\w.])|(?=\w++[\"']?\s*+[:,}}\]]))|<br ?/?>", "kcva", "\\<", order=9)
def escaped_space(machine: Machine, match: re.Match[str]) -> bool:
    """White space between tokens that is written as a backslash and a letter, or as a tag (<br>), is removed."""
    return machine.replace("escaped_space", match)


plugins = (invisible_character, escaped_space, comment, ellipsis, fence_inside, stray_mark, stray_text)
