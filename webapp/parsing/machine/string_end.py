"""Does this quote close its string? Decided by a bounded look at what stands behind it, and a little before it."""

from __future__ import annotations

import re

from webapp.parsing.edit import NotJson
from webapp.parsing.machine import tokens
from webapp.parsing.machine.closers import ANY_KEY
from webapp.parsing.machine.repair import fits
from webapp.parsing.machine.state import Machine, StringReading
from webapp.parsing.machine.tokens import (
    ASCII,
    CLOSE,
    COLON,
    COLON_LIKE,
    COMMA,
    GAP,
    JOINED,
    LITERAL,
    MARK,
    NOTE,
    QUOTED,
    SCALAR,
    SPACE,
    TYPESET,
)
from webapp.parsing.patterns import later

CERTAIN = 3
_LINE_NOTE = (
    r"(?://|\#\ )[^\n\"]{0,300}+(?:\n|(?<=[}\]])|\Z)|(?://|\#\ )[^\n\"}\]]{0,300}+[}\]]|/\*"
    r"|(?<=\s)(?://|\#\ )[^\n]{0,300}+\n\s{0,60}+[}\]]"
)
_after_value = later(
    rf"""\s{{0,1000}}+(?:
      (?P<end>\Z|```|~~~|(?:</?[\w|｜▁]{{1,40}}+>\s*+){{1,3}}+\Z)
    | (?P<close>[{CLOSE}])
    | (?P<mark>{MARK}\s{{0,20}}+(?:,\s{{0,100}}+{ANY_KEY}|[}}\]])
        |[{COMMA}]\s{{0,100}}+(?:{MARK}\s{{0,20}}+{QUOTED}(?:{MARK})?+|{QUOTED}{MARK})\s{{0,20}}+:)
    | [{COMMA};|]{GAP}(?:
        (?P<key>{ANY_KEY}|["'](?!(?<=[,;]["'])[}}\]])[^"'\n]{{0,80}}+["']?+\Z)|(?P<trail>[}}\]])
      | (?P<cut>\Z)|(?P<note>{NOTE}|```)|(?P<comma>,)
      | (?P<near>{QUOTED}\s++(?:(?:{SCALAR}|{LITERAL}|'[^'\n]{{0,200}}+')\s{{0,50}}+[,}}]|[\[{{])
        |["']\w[\w\ -]{{0,40}}+:\s{{0,3}}+(?:["'\d\[{{-]|{LITERAL}))
      | (?P<object>\{{\s*+["'}}])|(?P<dots>\.\.\.)|(?P<stray>(?:[^\W\d]|\()[\w\ .()]{{0,40}}+\s{{0,60}}+{QUOTED}\s*+:))
    | (?P<row>\{{\s*+["'][\w -]{{1,60}}+["']\s*+:)
    | (?P<dot>\.\s{{1,60}}+{ANY_KEY})
    | (?P<glued>(?<=[^\s,]["”'])[A-Za-z_]\w{{0,40}}+"\s{{0,20}}+:\s{{0,20}}+(?:["\d\[{{-]|{LITERAL}))
    | (?P<unit>(?<=[\s])[A-Za-z%$€][\w%./-]{{0,20}}+(?:[ ][\w./-]{{1,20}}+){{0,2}}+\s{{0,20}}+
        (?:,\s{{0,60}}+{ANY_KEY}|\}}\s*+\Z))
    | (?P<nocomma>"(?:[^"\\\n:]|\\u\w{{4}}){{1,80}}+"{SPACE}:|'[\w -]{{1,60}}+'{SPACE}:)
    | (?:\\\n\s{{0,99}}+)?(?<=\s)(?P<joined>{JOINED})
    | (?P<comment>{_LINE_NOTE})
    | (?P<plus>\+\s*+["'`])
    | (?P<word>\n\s*+[A-Za-z_]\w*+\s*+:)
    | (?P<bare>(?<=\s)[A-Za-z_]\w*+\s?+:\s)
    | (?P<prose>(?<=\n)[^\W\d_][^"{{}}\[\]]{{3,2000}}+\Z)
    | (?P<weak>,|\)|\ [\w\ ]{{1,40}}+[}}\],])
    )""",
    re.VERBOSE,
)
_after_item = later(
    rf"""\s{{0,1000}}+(?:
      (?P<end>\Z|```|~~~|(?:</?[\w|｜▁]{{1,40}}+>\s*+){{1,3}}+\Z)
    | (?P<close>[{CLOSE})])
    | (?P<mark>{MARK}\s{{0,20}}+[,\]]
        |[{COMMA}]\s{{0,100}}+(?!-\d)(?:{MARK}|:)\s{{0,20}}+(?:"[^"\n]{{0,300}}+"|'[^'\n]{{0,300}}+'|{SCALAR})\s{{0,20}}+[,\]])
    | [{COMMA};|]{GAP}(?:
        (?P<string>[bru]?["'{TYPESET}]|`(?!``)|\(["'\d\[{{()-])
      |(?P<value>[-\d\[{{.｛［【]|{LITERAL}|[^\W\d][\w ]{{0,40}}+["']?+\s*+[,\]])
      | (?P<stray>[^\W\d_A-Za-z]{{1,3}}+(?:[{{\[]|"[^\s,:}}\]])
        |(?:[A-Za-z_][\w .():'-]{{0,60}}+\n|\([^()\n"]{{1,60}}+\))\s{{0,60}}+(?:["{{\[\d-]|{LITERAL}))
      | (?P<trail>[\]}})])|(?P<cut>\Z)|(?P<note>{NOTE}|```)|(?P<comma>,))
    | (?P<colon>:|=>)
    | (?P<next>["']|[\d\[{{]|-\d|{LITERAL})
    | (?P<comment>{_LINE_NOTE})
    | (?P<plus>\+\s*+["'`])
    | (?P<lone>(?<=\s)[A-Za-z_]\w*+"?+\s*+[,\]])
    | (?P<prose>(?<=\n)[^\W\d_][^"{{}}\[\]]{{3,2000}}+\Z)
    | (?P<weak>,)
    )""",
    re.VERBOSE,
)
after_key = later(
    rf"""\s{{0,1000}}+(?:
      (?P<colon>(?:{MARK}(?=:))?[{COLON}](?!=))|(?P<arrow>=>?|{COLON_LIKE}(?=\s*+(?:["'“\d\[{{-]|{LITERAL})))
    | (?P<pair>[\[{{]|(?<=\s)(?:-?\d[\w.]*+|{LITERAL})(?=\s)
      |(?:{SCALAR}|{LITERAL}|'[^'\n]{{0,200}}+'|[“‘][^”’\n]{{0,200}}+[”’])(?={SPACE}[,}}]))
    | (?P<value>["'\d\[{{]|{LITERAL})
    | (?P<alone>,\s{{0,100}}+{ANY_KEY})
    | (?P<none>[,}}])|(?P<end>\Z)
    )""",
    re.VERBOSE,
)
_closed_string = later(r"""(?:"(?:[^"\\\n]|\\.){0,300}+"|'[^'\\\n]{0,300}+')\s{0,200}+(?:[,\])"'\d]|\Z)""")
_one_word = later(r"\w++(?<!\d)\Z")
_only_marks = later(r"(?:</[\w|]{1,40}+>\s*+|```\s*+)*+\Z")
_value_ahead = later(rf"""\s{{0,50}}+(?:["'“\[{{\d-]|{LITERAL})""")
colon = later(r"\s{0,200}+(?::(?!/)|=>)")
_MEMBER = rf"(?:{SCALAR}|'[^'\n]{{0,200}}+'){SPACE}"
_set = later(rf"(?:,\s{{0,100}}+(?:{_MEMBER},{SPACE}){{0,200}}+{_MEMBER})?+\}}")


def score(machine: Machine, reading: StringReading, after: int) -> int:
    """How sure it is that a quote just before `after` closes the string: 0 not, 1 perhaps, 2 likely, 3 certain."""
    machine.look -= 100
    if machine.look < 0:
        raise NotJson(after, "too much would have to be looked at to tell which quotes end its strings")
    raw = machine.raw
    after += closes_twice(raw, reading, after - 1)
    in_object = reading.where == "v" or (reading.where == "i" and machine.inside == "{")
    pattern = after_key if reading.where == "k" else _after_value if in_object else _after_item
    match = pattern.match(raw, after, machine.end)
    if not match:
        return _score_repaired(machine, reading, after)
    return _score_key(machine, reading, match) if reading.where == "k" else _score_value(machine, reading, match)


def closes_twice(raw: str, reading: StringReading, at: int) -> bool:
    """Whether the quote at `at` stands twice where it closes the string, which may have been opened by two as well."""
    if raw[at] != raw[at + 1 : at + 2] or not _twice_at_end.match(raw, at):
        return False
    if reading.inner and (raw[at] != raw[reading.start] or reading.inner % 2):
        return False
    return not raw.count('\\"', reading.open_end, at) % 2  # else the first of the two is of the text: `"say \"x""`


_twice_at_end = later(r"""(?<!\d['′]\d)(?<!\d['′ ]\d\d)(["'])\1(?=\s{0,50}+[,:=}\]])""")


def _score_key(machine: Machine, reading: StringReading, match: re.Match[str]) -> int:
    kind = match.lastgroup
    if kind == "none" and not machine.frames[-1].count and _set.match(machine.raw, match.start(kind), machine.end):
        kind = "alone"
    if kind in ("colon", "arrow", "pair"):
        return CERTAIN
    if kind == "alone":
        return CERTAIN if not reading.inner else 1
    if kind in ("value", "none"):
        return 2 if not reading.inner else 1
    return 2 if kind == "end" and not reading.inner else 0


def _score_repaired(machine: Machine, reading: StringReading, after: int) -> int:
    """Nothing mendable follows the quote: it closes where a repair knows what stands there."""
    raw, end = machine.raw, machine.end
    after = tokens.space.match(raw, after, end).end()  # type: ignore[union-attr]  # always matches
    if not fits("c" if reading.where == "k" else "a", raw, after, end):
        return 0
    return 2 if not reading.inner else 1


_WITH_INNER = {
    **dict.fromkeys(("plus", "comment", "note", "comma", "dots"), 2),
    **dict.fromkeys(("joined", "bare", "near", "unit", "glued", "mark", "dot", "prose"), 0),
}
"""What the score is in a string that holds quotes already, of what makes any other one certain."""


def _score_value(machine: Machine, reading: StringReading, match: re.Match[str]) -> int:
    kind, raw = match.lastgroup, machine.raw
    if kind in ("close", "trail"):
        return _score_close(machine, reading, match)
    if kind == "next":
        return _score_next(machine, reading, match)
    if kind in ("unit", "glued") and (raw[match.start() - 1] != raw[reading.start] or raw[match.start() - 2] in "([{="):
        return 0
    if kind == "joined" and _is_of_call(raw, match.start() - 1, match.start("joined")):
        return 0
    if kind in _WITH_INNER:
        return _WITH_INNER[kind] if reading.inner else CERTAIN
    if kind == "key" and reading.inner % 2 and match["key"][0] not in "\"'" + TYPESET:
        return 1  # `"f(a: "x", b: 1)"`
    if kind == "object":
        return CERTAIN if len(machine.frames) > 1 and not reading.inner % 2 else 1
    if kind in ("value", "string") and _goes_on_behind_comma(raw, reading, match):
        return 1
    if kind == "row" and (reading.inner or "\n" not in raw[match.start() : match.end()]):
        return 0
    if kind == "colon":
        return CERTAIN if not reading.inner and _value_ahead.match(raw, match.end(), machine.end) else 1
    if kind == "lone":
        return CERTAIN if not reading.inner and _one_word.match(raw, reading.open_end, match.start() - 1) else 0
    return 1 if kind == "weak" else CERTAIN


def _goes_on_behind_comma(raw: str, reading: StringReading, match: re.Match[str]) -> bool:
    """Whether what follows a comma is of an item's text: in a call (`"f("a", "b")"`), another quotation that ends it
    (`"Say "x", "y""`), or words behind quotes of its own (`"He said "x", then"`).
    """
    at = match.start()
    if match.lastgroup == "string":
        if reading.inner % 2 == 0:
            return False
        is_inch = bool(reading.patches) and raw[reading.patches[-1].span.start - 1].isdigit()
        return reading.opened(raw, "()", at) > 0 or bool(not is_inch and _quoted_next.match(raw, at, match.endpos))
    return (
        match["value"][-1] in ",]"
        and match["value"][:-1].rstrip()[-1:] == '"'
        and (reading.inner > 0 or reading.opened(raw, "„“", at) > 0)
    )


_TEXT = r"[ ]\w[^\"\n]{0,200}+"
_quoted_next = later(rf'(?:(?:,\s{{0,60}}+|{_TEXT})"(?![\s,])[^"\n]{{1,200}}+"){{1,20}}+(?:{_TEXT})?+"\s{{0,60}}+[,\]]')


def _is_of_call(raw: str, at: int, second: int) -> bool:
    """Whether the quotes at `at` and `second` are round white space in program code: `f(" ", x)`."""
    return raw[at - 1] in "([{=" or (
        raw[at - 9 : at].rstrip()[-1:] == "," and raw[second + 1 : second + 2] in (",", ")")
    )


def _score_next(machine: Machine, reading: StringReading, match: re.Match[str]) -> int:
    """An item follows without a comma: sure where white space parts them and the next one is whole."""
    raw, at = machine.raw, match.start("next")
    if reading.inner:
        return 0
    if raw[at] in "\"'":
        is_apart = at > match.start() or raw[at - 1 : at + 1] == '""'
        return CERTAIN if is_apart and _closed_string.match(raw, at, machine.end) else 0
    return CERTAIN if "\n" in raw[match.start() : at] else 2


def _score_close(machine: Machine, reading: StringReading, match: re.Match[str]) -> int:
    """A closing bracket follows the quote: does it, and what follows it, fit the containers that are open?"""
    raw, at = machine.raw, match.end() - 1
    depth, end = len(machine.frames) - 1, machine.end
    open_inside = reading.opened(raw, "{}" if raw[at] == "}" else "[]", match.start()) > 0
    if open_inside and reading.inner:
        return 2
    closers = 0
    while at < end and ((char := ASCII.get(raw[at], raw[at])) in "}])" or char.isspace()) and closers <= depth + 1:
        if char in "}])":
            closers += 1
            if closers > depth:
                return CERTAIN if _root_ends.match(raw, at + 1, end) else 2
        at += 1
    if _only_marks.match(raw, at, end):
        return CERTAIN
    following = ASCII.get(raw[at : at + 1], raw[at : at + 1])
    if _sound.match(raw, at, end):
        return CERTAIN
    return 2 if following in "`<\"'{[" else 1


_root_ends = later(r"\s{0,200}+(?![\w\"':])|\s{0,200}+\n|\s{1,200}+[A-Z]|[ ]")
_sound = later(
    rf"""(?:{MARK}(?=,))?+[{COMMA}]\s{{0,200}}+(?:{ANY_KEY}|[-"'{TYPESET}{{\[｛［【\d}}\]]|\Z|{LITERAL}|\.\.\.|{NOTE}|```)"""
)


def slipped_inside(machine: Machine, reading: StringReading, at: int) -> str:
    """The comma or colon right before the closing quote at `at`, if it belongs behind it: `"x," "b": 1`, `"a:" 1`."""
    char = ":" if reading.where == "k" else ","
    if at == reading.open_end or machine.raw[at - 1] != char or not machine.frames:
        return ""
    if char == ":":
        pattern, kind = after_key, "pair"
    else:
        pattern, kind = (_after_value, "nocomma") if machine.inside == "{" else (_after_item, "next")
    match = pattern.match(machine.raw, at + 1, machine.end)
    return char if match and match.lastgroup == kind else ""
