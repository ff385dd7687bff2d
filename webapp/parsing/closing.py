"""Does this quote close its string? Decided by a bounded look at what stands behind it, and a little before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing import brackets
from webapp.parsing.brackets import ANY_KEY
from webapp.parsing.lexis import OPENERS, SCALAR, SPACE
from webapp.parsing.patterns import later

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine
    from webapp.parsing.quotes import Reading

CERTAIN = 3
_NOTE = r"//|/\*|\#|```"
_WORD = r"true\b|false\b|null\b|True\b|False\b|None\b|NaN\b|undefined\b"
_LINE_NOTE = r"(?://|\#\ )[^\n\"]{0,300}+(?:\n|(?<=[}\]])|\Z)|(?://|\#\ )[^\n\"}\]]{0,300}+[}\]]|/\*"
_after_value = later(
    rf"""\s{{0,1000}}+(?:
      (?P<end>\Z|```|~~~|</?[\w|]++>\s*+\Z)
    | (?P<close>[}}\]])
    | [,，、;]\s{{0,1000}}+(?:
        (?P<key>{ANY_KEY}|["'][^"'\n]{{0,80}}+["']?+\Z)|(?P<trail>[}}\]])|(?P<cut>\Z)|(?P<note>{_NOTE})|(?P<comma>,)
      | (?P<near>"[^"\n]{{1,60}}+"\s++(?:{SCALAR}\s{{0,50}}+[,}}]|[\[{{])
        |"\w[\w\ -]{{0,40}}+:\s{{0,3}}+(?:["\d\[{{-]|{_WORD}))
      | (?P<object>\{{\s*+["'}}])|(?P<dots>\.\.\.)|(?P<stray>[A-Za-z_][\w\ ]{{0,40}}+(?:"[^"\n]{{1,80}}+"\s*+:)))
    | (?P<nocomma>"[^"\\\n:]{{1,80}}+"{SPACE}:|'[\w -]{{1,60}}+'{SPACE}:)
    | (?P<joined>"[^"\n]{{0,300}}+"\s{{0,99}}+[,}}])
    | (?P<comment>{_LINE_NOTE})
    | (?P<plus>\+\s*+["'`])
    | (?P<word>\n\s*+[A-Za-z_]\w*+\s*+:)
    | (?P<bare>(?<=\s)[A-Za-z_]\w*+\s?+:\s)
    | (?P<weak>,|\)|\ [\w\ ]{{1,40}}+[}}\],])
    )""",
    re.VERBOSE,
)
_after_item = later(
    rf"""\s{{0,1000}}+(?:
      (?P<end>\Z|```|~~~|</?[\w|]++>\s*+\Z)
    | (?P<close>[}}\])])
    | [,，、;]\s{{0,1000}}+(?:
        (?P<string>["'“])|(?P<value>[-\d\[{{.]|{_WORD}|[A-Za-z_]\w*+"?+\s*+[,\]])
      | (?P<trail>[\]}}])|(?P<cut>\Z)|(?P<note>{_NOTE})|(?P<comma>,))
    | (?P<colon>:)
    | (?P<next>["']|[\d\[{{]|-\d|{_WORD})
    | (?P<comment>{_LINE_NOTE})
    | (?P<plus>\+\s*+["'`])
    | (?P<word>(?<=\s)[A-Za-z_]\w*+"?+\s*+[,\]])
    | (?P<weak>,)
    )""",
    re.VERBOSE,
)
_after_key = later(
    rf"""\s{{0,1000}}+(?:
      (?P<colon>:|：)|(?P<arrow>=>?)
    | (?P<pair>[\[{{]|(?<=\s)(?:-?\d[\w.]*+|{_WORD})(?=\s)
      |(?:{SCALAR}|'[^'\n]{{0,200}}+'|[“‘][^”’\n]{{0,200}}+[”’])(?={SPACE}[,}}]))
    | (?P<value>["'\d\[{{]|{_WORD})|(?P<none>[,}}])|(?P<end>\Z)
    )""",
    re.VERBOSE,
)
_closed_string = later(r"""(["'])[^"'\\\n]{0,300}+\1\s{0,200}+(?:[,\]"'\d]|\Z)""")
_closed_number = later(r"(?:-?[\d.]++|[A-Za-z]++)\s{0,50}+(?:[,\]\"]|\Z|(?<=\s)(?:-?\d|true\b|false\b|null\b))")
_one_word = later(r"\w++\Z")
_rest_of_key = later(r"""[^"\\\n{}\[\]:,]{1,60}+["”]\s{0,50}+:""")
_rest_of_items = later(r'[^"\\\n\[\]]{1,60}+"(?:\s{0,50}+,\s{0,50}+"[^"\\\n]{0,60}+"){0,20}+\s{0,50}+\]')
_key_text = later(r"""[^:"',{}\[\]\n]{1,60}+(?=:)""")
_next_line_key = later(r"""\n\s{0,200}+["'][^"'\n]{1,80}+["']\s{0,50}+:""")
_next_line_item = later(r"""\n\s{0,200}+"[^"\n]{0,300}+"\s{0,50}+[,\]\n]""")
_last_fence = later(r"(?:\s{0,50}(?:```|</[\w|]{1,40}>))+\s*\Z")
_last_closers = later(r"""\s{0,1000}+(?:[}\]]\s{0,200}+)*+(?:</[\w|]{1,40}+>\s*+|```\s*+)*+\Z""")
_spaced_comma = later(r"""(?:,\s{0,60}|\n\s{0,200})\Z""")
_spaced_colon = later(r":\s")
_value_ahead = later(rf"""\s{{0,50}}+(?:["'“\[{{\d-]|{_WORD})""")
_colon = later(r"\s{0,200}+:(?!/)")


def score(machine: Machine, reading: Reading, after: int) -> int:
    """How sure it is that a quote just before `after` closes the string: 0 not, 1 perhaps, 2 likely, 3 certain."""
    machine.look -= 100
    raw = machine.raw
    if reading.open_end - reading.start == 2 and raw.startswith(raw[reading.start], after):
        after += 1
    if reading.where == "k":
        return _score_key(_after_key.match(raw, after, machine.end), reading)
    if (
        raw[after - 1] == "'"
        and after - 2 > reading.open_end
        and raw[after - 2].isalnum()
        and raw[after : after + 1].isalpha()
    ):
        return 0
    if reading.where == "v" or (reading.where == "i" and machine.inside == "{"):
        return _score_value(machine, reading, _after_value.match(raw, after, machine.end))
    return _score_item(machine, reading, _after_item.match(raw, after, machine.end))


def _score_key(match: re.Match[str] | None, reading: Reading) -> int:
    kind = match.lastgroup if match else None
    if kind in ("colon", "arrow", "pair"):
        return CERTAIN
    if kind in ("value", "none"):
        return 2 if not reading.inner else 1
    return 2 if kind == "end" and not reading.inner else 0


def _score_value(machine: Machine, reading: Reading, match: re.Match[str] | None) -> int:
    if not match:
        return 0
    kind = match.lastgroup
    if kind in ("close", "trail"):
        return _score_close(machine, reading, match)
    if kind == "joined":
        return CERTAIN if not reading.inner and "\n" in match[0][: match.start(kind) - match.start()] else 0
    if kind in ("plus", "comment", "note", "comma", "dots"):
        return CERTAIN if not reading.inner else 2
    if kind in ("bare", "near"):
        return CERTAIN if not reading.inner else 0
    if kind == "object":
        return CERTAIN if len(machine.frames) > 1 else 1
    return 1 if kind == "weak" else CERTAIN


def _score_item(machine: Machine, reading: Reading, match: re.Match[str] | None) -> int:
    if not match:
        return 0
    kind, raw = match.lastgroup, machine.raw
    if kind in ("close", "trail"):
        return _score_close(machine, reading, match)
    if kind in ("plus", "comment", "note", "comma"):
        return CERTAIN if not reading.inner else 2
    if kind == "string":
        return CERTAIN if _string_stands(raw, match.start("string"), machine.end) else 1
    if kind == "next":
        return _score_next(machine, reading, match)
    if kind == "colon":
        return (
            CERTAIN if machine.frames and not reading.inner and _value_ahead.match(raw, match.end(), machine.end) else 1
        )
    if kind == "word":
        return CERTAIN if not reading.inner and _one_word.match(raw, reading.open_end, match.start() - 1) else 0
    return 1 if kind == "weak" else CERTAIN


def _score_next(machine: Machine, reading: Reading, match: re.Match[str]) -> int:
    """An item follows without a comma: sure where white space parts them and the next one is whole."""
    raw, at = machine.raw, match.start("next")
    if reading.inner:
        return 0
    if raw[at] in "\"'":
        return CERTAIN if match.end() - match.start() > 1 and _closed_string.match(raw, at, machine.end) else 0
    if raw[at].isalnum() or raw[at] == "-":
        return CERTAIN if _closed_number.match(raw, at, machine.end) else 0
    return 2


def _string_stands(raw: str, at: int, end: int) -> bool:
    """Whether the quote at `at` opens a string that a delimiter follows, as far as 300 characters show."""
    quote = raw[at]
    close = {"“": "”"}.get(quote, quote)
    match = re.compile(rf"(?:[^{close}\\]|\\.){{0,300}}+").match(raw, at + 1, end)
    stop = match.end() if match else at + 1
    if stop >= end or raw[stop] != close:
        return True
    return _delimited.match(raw, stop + 1, end) is not None


_delimited = later(r"\s{0,200}+(?:[,\]:}]|\Z|//|/\*|\+|[\"'])")


def _score_close(machine: Machine, reading: Reading, match: re.Match[str]) -> int:
    """A closing bracket follows the quote: does it, and what follows it, fit the containers that are open?"""
    raw, at = machine.raw, match.end() - 1
    depth, end = len(machine.frames) - 1, machine.end
    braces = raw.count("{", reading.open_end, match.start()) - raw.count("}", reading.open_end, match.start())
    brackets_in = raw.count("[", reading.open_end, match.start()) - raw.count("]", reading.open_end, match.start())
    machine.look -= match.start() - reading.open_end
    open_inside = (braces if raw[at] == "}" else brackets_in) > 0
    if _last_closers.match(raw, at, end):
        return CERTAIN
    if open_inside and reading.inner:
        return 2
    closers = 0
    while at < end and (raw[at] in "}])" or raw[at].isspace()) and closers <= depth + 1:
        if raw[at] in "}])":
            closers += 1
            if closers > depth:
                return CERTAIN if _root_ends.match(raw, at + 1, end) else 2
        at += 1
    following = raw[at : at + 1]
    if following == ",":
        return CERTAIN if _sound.match(raw, at, end) else 1
    return 2 if following in "`<\"'{[" else 1


_root_ends = later(r"\s{0,200}+(?![\w\"':])|\s{0,200}+\n|\s{1,200}+[A-Z]|[ ]")
_sound = later(rf""",\s{{0,200}}+(?:{ANY_KEY}|["'{{\[\-\d}}\]]|\Z|{_WORD}|\.\.\.|{_NOTE})""")


def opens_next(machine: Machine, reading: Reading, at: int) -> int:
    """Where the string should have ended if the quote at `at` opens what comes next: `"a": "b, "c": 1`; else -1."""
    if reading.where == "v":
        return _opens_next_key(machine, reading, at)
    if reading.where == "i":
        return _opens_next_item(machine, reading, at)
    return _key_without_quote(machine, reading, at)


def _opens_next_key(machine: Machine, reading: Reading, at: int) -> int:
    raw = machine.raw
    if not _rest_of_key.match(raw, at + 1, machine.end):
        return -1
    before = _spaced_comma.search(raw, max(reading.open_end, at - 210), at)
    if not before or before.start() <= reading.open_end or raw[before.start() - 1] in '\\"':
        return -1
    machine.look -= at - reading.open_end
    if raw.count("{", reading.open_end, at) > raw.count("}", reading.open_end, at):
        return -1
    if score(machine, reading, at + 1) >= CERTAIN:
        return -1
    return _trimmed(raw, reading.open_end, before.start())


def _trimmed(raw: str, low: int, stop: int) -> int:
    while stop > low and raw[stop - 1] in ", \t\r\n":
        stop -= 1
    return stop


def _opens_next_item(machine: Machine, reading: Reading, at: int) -> int:
    raw = machine.raw
    if reading.inner or not _rest_of_items.match(raw, at + 1, machine.end):
        return -1
    before = _spaced_comma.search(raw, max(reading.open_end, at - 60), at)
    if not before or before.start() <= reading.open_end or raw[before.start()] != ",":
        return -1
    return before.start()


def _key_without_quote(machine: Machine, reading: Reading, at: int) -> int:
    """A key's string that reaches past its colon lacks its closing quote: `{"a: 1, "b": 2}`."""
    raw = machine.raw
    after = None if reading.inner else _after_key.match(raw, at + 1, machine.end)
    if after and after.lastgroup == "colon" and not _spaced_colon.search(raw, reading.open_end, at):
        return -1
    colon = colon_inside(machine, reading)
    return colon if reading.open_end < colon < at else -1


def colon_inside(machine: Machine, reading: Reading) -> int:
    """Where a key that swallowed its colon should have ended, or -1."""
    match = _key_text.match(machine.raw, reading.open_end, machine.end)
    return match.end() if match else -1


def line_ends_it(machine: Machine, reading: Reading, at: int) -> int:
    """Where the string ended if at the line break at `at` a new member or item begins, else -1."""
    raw, end = machine.raw, machine.end
    if reading.where == "k" or reading.inner % 2:
        return -1
    next_line = (_next_line_key if reading.where == "v" else _next_line_item).match(raw, at, end)
    if not next_line or machine.look < 0:
        return -1
    machine.look -= at - reading.open_end
    if raw.count("{", reading.open_end, at) > raw.count("}", reading.open_end, at):
        return -1
    stop = at
    while stop > reading.open_end and raw[stop - 1] in ", \t\r":
        stop -= 1
    if reading.where == "i" and "," not in raw[stop:at] and not machine.frames:
        return -1
    return stop


def end_of_unclosed(machine: Machine, reading: Reading) -> int:
    """Where a string ends that nothing closes: before the closers that fit at the text's end, else at that end."""
    raw, end = machine.raw, machine.end
    tail = _last_fence.search(raw, max(reading.open_end, end - 300), end)
    at = stop = tail.start() if tail else end
    while at > reading.open_end and (raw[at - 1] in "}]" or raw[at - 1].isspace()) and stop - at < 300:
        at -= 1
    closers = [char for char in raw[at:stop] if char in "}]"]
    wanted = [OPENERS[frame.kind] for frame in reversed(machine.frames[-len(closers) :])] if closers else []
    opened = raw.count("{", reading.open_end, at) > raw.count("}", reading.open_end, at)
    if closers and closers == wanted and not opened:
        return at
    return stop


def comma_inside(machine: Machine, at: int) -> bool:
    """Whether the comma right before the closing quote at `at` belongs behind it: `"x," "b": 1`."""
    match = _after_value.match(machine.raw, at + 1, machine.end)
    return bool(match and match.lastgroup == "nocomma" and machine.inside == "{")


def colon_follows(machine: Machine, end: int) -> bool:
    return machine.inside != "{" and _colon.match(machine.raw, end, machine.end) is not None


def item_is_key(machine: Machine, start: int, end: int) -> None:
    """An array's item has a colon: the array should have been closed, or the object before it closed too early."""
    frames = machine.frames
    machine.key_start, machine.key_end, machine.at = start, end, end
    raw, last = machine.raw, machine.last
    if raw[last - 1] == "}" and machine.comma >= 0 and (raw[last - 2] == "}" or len(frames) == 1):
        machine.patch("extra_closer", last - 1, last)
        machine.push("{", 0)
        machine.frames[-1].count = 1
    elif len(frames) > 1 and frames[-2].as_kind == "{" and machine.comma >= 0:
        comma = machine.comma
        machine.comma = -1
        brackets.close_missing(machine, len(frames) - 1)
        machine.comma = comma
    else:
        machine.patch("missing_opener", start, start, "{")
        machine.push("{", 0)
    machine.at, machine.state = end, "c"
