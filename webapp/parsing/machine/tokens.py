"""Tokens: what JSON is made of, and every separator and delimiter that stands for one of JSON's.

Every run is possessive, every lookahead bounded.
"""

from __future__ import annotations

from string import ascii_letters

from webapp.parsing.patterns import later

LETTERS = ascii_letters + "_"
SPACE = r"[ \t\r\n]*+"
GAP = r"[\s\u200b-\u200f\u2060\ufeff]{0,1000}+"
"""White space, and the kind that nobody sees."""
STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
SCALAR = rf"(?:{STRING}|(?:{NUMBER}|true|false|null)(?![\w.+-]))"
ASCII = {
    **dict.fromkeys("：﹕︰", ":"),
    **dict.fromkeys("，、،﹐；؛", ","),
    **dict.fromkeys("｛﹛", "{"),
    **dict.fromkeys("｝﹜", "}"),
    **dict.fromkeys("［【", "["),
    **dict.fromkeys("］】", "]"),
}
"""Separators and brackets of other scripts, each with the one of JSON's that it stands for."""
TWINS = str.maketrans(ASCII)
COLON = ":：﹕︰"
COMMA = ",，、،﹐"
CLOSE = r"}\]｝﹜］】"
"""Characters for a character class, JSON's own first."""
ARROW = "(?:=>|->|→)"
COLON_LIKE = rf"(?:{ARROW}|:=|==?|[|;]|(?:is|equals)\b)"
"""What other notations have between a key and its value."""
LITERAL = r"(?:true\b|false\b|null\b|True\b|False\b|None\b|NaN\b|undefined\b)"
LITERALS = {"True": "true", "False": "false", "None": "null"}
"""Python's, each with JSON's."""
MARK = r"[*`_~\\^.;|#<>-]{1,3}+"
"""Marks that belong to no token of JSON."""
TYPESET = "“„‘′«»「『"
"""What opens strings where typography set the quotes."""
CHECKBOXES = ("[ ] ", "[x] ", "[X] ")
NOTE = r"//|/\*|\#|<think>"
DELIMITED = rf"(?=[ \t]*+(?:[{COMMA}{CLOSE})\n;\"]|{NOTE}|```|\Z)|\s*+[{COMMA}{CLOSE})])"
"""Behind a value without quotes: a delimiter, a comment, or the end of its line or of the text."""
JOINED = (
    r"""(?:"[^"\n]{0,500}+"|'[^'\n]{0,500}+')(?:(?:\s|\\\n){0,99}+\+?\s{0,99}+(?:"[^"\n]{0,500}+"|'[^'\n]{0,500}+')){0,40}+"""
    r"\s{0,99}+[,})\]]"
)
"""Strings that stand side by side, and what ends the value that they are."""
QUOTED = r"""(?:"[^"\n]{1,80}+"|'[^'\n]{1,80}+')"""
"""A short string in either quotes."""
KEY_AHEAD = r'"(?:[^"\\\x00-\x1f]|\\.){0,200}+"' + SPACE + f"(?:[{COLON}]|{ARROW})"

space = later(SPACE)
"""White space as JSON knows it."""
plain = later(
    rf"(?:{NUMBER}|true|false|null)(?={SPACE}(?:[{COMMA}{CLOSE})]|;{SPACE}[\"'}}\]\d\[{{-]|\Z|//|/\*|[\[{{]|{KEY_AHEAD})"
    rf"|[ \t\r]*+\n|[ \t]++(?:[\"'“]|-?\d|\#|true\b|false\b|null\b|[A-Za-z_]\w*+[ ]?+:))"
)
"""A number or literal that a delimiter follows, or another value that a comma should part from it."""
settled = later(rf"{STRING}(?={SPACE}(?:[}}\]](?!\")|,{SPACE}{KEY_AHEAD}))")
"""A string as an object's value, its closing quote beyond doubt."""
assigned = later(rf"{STRING}(?={SPACE}(?:[}}\]](?!\")|,{SPACE}(?:{STRING}|[A-Za-z_]\w*+){SPACE}=(?!=)))")
"""The same behind an equals sign, as the next key may have one too: `"a" = "x", "b" = "y"`."""


def _container(value: str) -> str:
    """An array or object that holds nothing but such values."""
    behind = rf"{SPACE}(?:,{SPACE}(?![\]}}])|(?=[\]}}]))"
    return rf"(?:\[{SPACE}(?:{value}{behind})*+\]|\{{{SPACE}(?:{STRING}{SPACE}:{SPACE}{value}{behind})*+\}})"


FLAT = _container(SCALAR)
"""An array or object that holds no other."""
_VALUE = f"(?:{SCALAR}|{_container(f'(?:{SCALAR}|{FLAT})')})"
members = later(
    rf"(?P<run>(?:{STRING}{SPACE}:{SPACE}{_VALUE}{SPACE}(?:,{SPACE}(?={KEY_AHEAD})|(?=\}}(?!\"))))*+)"
    rf"(?:(?P<key>{STRING}){SPACE}:(?!=){SPACE})?+"
)
"""Whole members of an object, up to its last one, each with its comma; then a key in double quotes and its colon."""
items = later(rf'(?:{_VALUE}{SPACE}(?:,{SPACE}(?=["\-0-9tfn{{\[])|(?=\](?!"))))++')
"""Whole items of an array, up to its last one, each with its comma."""

OPENERS = {"{": "}", "[": "]", "(": ")"}
"""Each opening bracket with the one that closes it."""
CLOSERS = {closer: opener for opener, closer in OPENERS.items()}
bracket = later(r'"(?:[^"\\\n]|\\.)*+"?+|[{}\[\]]')


def place_of_opener(raw: str, key: int) -> int:
    """Where a brace belongs that is missing before `key`: at the end of a line with nothing or a colon, if any."""
    feed = raw.rfind("\n", max(0, key - 200), key)
    if feed < 0 or raw[feed:key].strip():
        return key
    line = raw[max(raw.rfind("\n", 0, feed), feed - 400) + 1 : feed].rstrip()
    return feed if not line or line[-1] == ":" else key


def balanced_end(raw: str, start: int, limit: int, depth: int = 0) -> int:
    """The offset after the bracket that closes the one at `start`, strings left alone, or -1.

    Where `depth` brackets are open before it, the one that closes all of them.
    """
    for match in bracket.finditer(raw, start, limit):
        char = match[0][0]
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1
