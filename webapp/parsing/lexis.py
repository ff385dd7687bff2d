"""Lexical patterns that the machine and its repairs share; every run is possessive, every lookahead bounded."""

from __future__ import annotations

from webapp.parsing.patterns import later

SPACE = r"[ \t\r\n]*+"
STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
SCALAR = rf"(?:{STRING}|(?:{NUMBER}|true|false|null)(?![\w.+-]))"
KEY_AHEAD = r'"(?:[^"\\\x00-\x1f]|\\.){0,200}+"' + SPACE + "[:：]"

space = later(SPACE)
"""White space as JSON knows it."""
string = later(STRING)
"""A string without defect, quotes and all."""
plain = later(
    rf"(?:{NUMBER}|true|false|null)(?={SPACE}(?:[,}}\])，、]|;{SPACE}[\"'}}\]]|\Z|//|/\*|[\[{{]|{KEY_AHEAD})"
    rf"|[ \t\r]*+\n|[ \t]++(?:[\"'“]|-?\d|\#|true\b|false\b|null\b|[A-Za-z_]\w*+[ ]?+:))"
)
"""A number or literal that a delimiter follows, or another value that a comma should part from it."""
settled = later(rf"{STRING}(?={SPACE}(?:[}}\]]|,{SPACE}{KEY_AHEAD}))")
"""A string as an object's value, its closing quote beyond doubt."""
settled_item = later(rf"{STRING}(?={SPACE}(?:\]|,{SPACE}(?:{STRING}{SPACE}[,\]]|[-0-9\[{{]|true\b|false\b|null\b)))")
"""A string as an array's item, its closing quote beyond doubt."""
key = later(rf"{STRING}(?={SPACE}:)")
members = later(rf"(?:{STRING}{SPACE}:{SPACE}{SCALAR}{SPACE},{SPACE}(?={KEY_AHEAD}))++")
"""Whole members of an object, each with its comma."""
items = later(rf'(?:{SCALAR}{SPACE},{SPACE}(?=["\-0-9tfn{{\[]))++')
"""Whole scalar items of an array, each with its comma."""
word = later(r"[A-Za-z_$][\w$]*+")
bare_key = later(r"(?:[\w$@./-]++(?:[ ][\w$@./-]++){0,4}+)(?=[ \t]*+:)")
"""A key without quotes, right before its colon."""

OPENERS = {"{": "}", "[": "]", "(": ")"}
CLOSERS = {"}": "{", "]": "[", ")": "("}
