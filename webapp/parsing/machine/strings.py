"""Strings that are not plainly right: which quote closes them, and what inside must be escaped."""

from __future__ import annotations

import re

from webapp.parsing.edit import Edit, edit_at
from webapp.parsing.machine import escapes, missing_tokens, string_end, string_quotes
from webapp.parsing.machine.state import Machine, StringReading
from webapp.parsing.machine.tokens import LITERAL, MARK, QUOTED
from webapp.parsing.patterns import later

QUOTES = {
    '"': '"”“„″＂',
    "'": "'’‘\"",
    "`": "`´",
    "´": "´`",
    "“": '”“"„',
    "”": '”“"',
    "„": '“”"',
    "‘": "’‘'",
    "′": "′’'",
    "’": "’‘'",
    "»": "«»",
    **dict(zip("«‹「『", "»›」』", strict=True)),
    "＂": '＂"',
    "＇": "＇'",
    "″": '″"',
}
"""The quotes that open a string, each with those that may close it."""
_PAIRS = {"“": "„“", "”": "“”", "»": "«»", "«": "»«", "」": "「」", "』": "『』"}
"""Quotes of which others may stand in a string, by their closer, which belongs to the opener before it."""
NAMES = {'"': "double", "'": "single_quotes", "`": "backticks", "´": "backticks"}
_runs = {quote: re.compile(rf'[^"\\\x00-\x1f{re.escape(ends)}]*+') for quote, ends in QUOTES.items()}
_half = later(r'„|(?<![\u0590-\u05ff])"|"(?![\u0590-\u05ff])')
"""A double quote, in Hebrew not within a word."""
_single_ahead = later(r"[^'\n]{0,300}+'")
_doubled = later(r"""(["'])\1(?=[^\s,:}\]"'])[^"'\n]{0,200}+\1\1""")
_doubled_open = later(
    r"""(["'])\1(?=[ ]?\w|[{\[(<#$/.@])(?:(?!\1)[^\n]){0,200}+\1"""
    rf"(?=\s{{0,50}}+(?:[,:=}}\]]|;\s|{LITERAL}|-?\d|{QUOTED}\s*+:|[{{\[]|{MARK}:))"
)


def read_string(machine: Machine, where: str) -> bool:
    """Read the string at `machine.at` in place `where` (`k` key, `v` object's value, `i` item or root).

    False where no quote stands there. Its closing quote is the first that its surroundings make certain, else the
    likeliest one; looking ahead is bounded and charged to `machine.look`.
    """
    opener, has_three = machine.raw[machine.at], False
    if opener not in QUOTES:
        return False
    if opener in "\"'" and machine.raw.startswith(opener * 3, machine.at, machine.end):
        has_three = opener == '"' and where != "k" and string_quotes.opens_with_three(machine)
        if not has_three and _read_triple(machine, where):
            return True
    width = 2 if not has_three and _opens_twice(machine) else 1
    reading = StringReading(machine.at, machine.at + width, where, QUOTES[opener] + '"' * (where == "k"))
    if has_three:
        _keep(machine, reading, reading.open_end, reading.open_end + 3)
    _walk(machine, reading, _runs[opener], reading.open_end + 3 * has_three)
    return True


def _opens_twice(machine: Machine) -> bool:
    raw, at, end = machine.raw, machine.at, machine.end
    return bool(_doubled.match(raw, at, end) or _doubled_open.match(raw, at, end))


def _walk(machine: Machine, reading: StringReading, run: re.Pattern[str], at: int) -> None:
    raw, end = machine.raw, machine.end
    opener = raw[reading.start] if reading.where != "k" else ""
    while True:
        at = run.match(raw, at, end).end()  # type: ignore[union-attr]  # always matches
        if at >= end:
            _ran_out(machine, reading)
            return
        char = raw[at]
        if char == "\\":
            at = _escape(machine, reading, at)
        elif char < " ":
            if char == "\n" and (stop := string_quotes.line_ends_it(machine, reading, at)) >= 0:
                close_before(machine, reading, stop)
                return
            stop = escapes.controls.match(raw, at, end).end()  # type: ignore[union-attr]  # it begins with one
            reading.patches.append(escapes.control(raw, at, stop))
            at = stop
        elif raw[reading.start] == char == raw[at + 1 : at + 2] and string_quotes.is_written_twice(raw, reading, at):
            reading.patches.append(edit_at(raw, "doubled_quote", at, at + 1, "\\" if char == '"' else ""))
            reading.twice += 1
            at += 2
        elif opener and char in (opener, '"') and (stop := string_quotes.inside_until(machine, reading, at)) > at:
            _keep(machine, reading, at, stop)
            at = stop
        elif char in reading.closers and _closes(machine, reading, at):
            return
        else:
            if char == '"':
                reading.patches.append(edit_at(raw, "unescaped_quote", at, at, "\\"))
            reading.inner += char == '"' or not string_quotes.apostrophe.match(raw, at)
            at += 1


def _keep(machine: Machine, reading: StringReading, start: int, stop: int) -> None:
    """Escape what stands in `raw[start:stop]`, all of which is of the text."""
    patches = list(escapes.inside(machine.raw, start, stop))
    machine.look -= 10 * len(patches)
    reading.patches += patches
    reading.inner += [patch[0] for patch in patches].count("unescaped_quote")


def _escape(machine: Machine, reading: StringReading, at: int) -> int:
    """A backslash at `at`: a good escape is passed, a bad one mended. The offset after it."""
    raw = machine.raw
    if raw.startswith('\\"', at) and '"' in reading.closers:
        reading.inner += reading.inner % 2  # it closes what another quote opened: `"„so\\", she said"`
        certain = string_end.score(machine, reading, at + 2) >= string_end.CERTAIN
        if certain and (
            escapes.windows_path.match(raw, reading.open_end, at)
            or escapes.in_path.search(raw, max(reading.open_end, at - 200), at)
        ):
            reading.patches.append(edit_at(raw, "bad_escape", at, at, "\\"))
            return at + 1
        if certain and at - reading.open_end < 300:
            is_alone = raw.find("\\", reading.open_end, at) < 0 and raw[at - 1] != ":"
            mended = edit_at(raw, "bad_escape", at, at + is_alone, "" if is_alone else "\\")
            _remember(reading, at + 1, 1, mended)
        return at + 2
    patch, after = escapes.backslash(raw, at, machine.end)
    if patch:
        reading.patches.append(patch)
    return after


def _closes(machine: Machine, reading: StringReading, at: int) -> bool:
    """Whether the string is settled at the quote at `at`; a merely possible one is remembered."""
    if (stop := string_quotes.opens_next(machine, reading, at)) >= 0:
        close_before(machine, reading, stop)
        return True
    score = string_end.score(machine, reading, at + 1)
    pair = _PAIRS.get(machine.raw[at])
    if score >= string_end.CERTAIN and pair and reading.opened(machine.raw, pair, at) > 0:
        score = string_end.CERTAIN - 1
    if machine.raw[reading.start] == "'" and machine.raw[at] == '"' and _is_inside_single(machine, reading, at, score):
        return False
    if score >= string_end.CERTAIN:
        close(machine, reading, at)
        return True
    if score:
        _remember(reading, at, score)
    return False


def _is_inside_single(machine: Machine, reading: StringReading, at: int, score: int) -> bool:
    """Whether the double quote at `at` stands in a string in single quotes: another one opens or closes there."""
    if score < string_end.CERTAIN:
        return _single_ahead.match(machine.raw, at, machine.end) is not None
    machine.look -= at - reading.open_end
    return len(_half.findall(machine.raw, reading.open_end, at)) % 2 == 1


def _remember(reading: StringReading, at: int, score: int, *patches: Edit) -> None:
    if score > reading.best_score:
        reading.best, reading.best_score, reading.best_patches = at, score, len(reading.patches)
        reading.best_extra = patches


def close(machine: Machine, reading: StringReading, at: int) -> None:
    """The quote at `at` closes the string."""
    raw = machine.raw
    _open(machine, reading)
    machine.patches.extend(escapes.together(raw, reading.open_end, at, reading.patches))
    end = at + 1
    if string_end.closes_twice(raw, reading, at):
        machine.patch("doubled_quote", at + 1, at + 2)
        end += 1
    if slipped := string_end.slipped_inside(machine, reading, at):
        machine.patch("comma_in_quote", at - 1, at + 1, f'"{slipped}')
        finish(machine, reading, end)
        machine.state = "v"
        if slipped == ",":
            machine.comma_read(at)
        return
    if raw[at] != '"':
        machine.patch(_name(raw[at]), at, at + 1, '"')
    finish(machine, reading, end)


def close_before(machine: Machine, reading: StringReading, at: int, dropped: int = 0) -> None:
    """The string lacks its closing quote, which belongs at `at`, or at `dropped` if all up to there was dropped."""
    _open(machine, reading)
    before = [patch for patch in reading.patches if patch.span.end <= at]
    machine.patches.extend(escapes.together(machine.raw, reading.open_end, at, before))
    end = max(at, dropped)
    if end == at and string_quotes.closed_by_another(machine.raw, reading, at):
        machine.patch(_name(machine.raw[at - 1]), at - 1, at, '"')
    else:
        machine.patch("missing_quote", end, end, '"')
    finish(machine, reading, end)


def _open(machine: Machine, reading: StringReading) -> None:
    opener = machine.raw[reading.start]
    first = reading.open_end - 1
    if first > reading.start:
        machine.patch("doubled_quote", reading.start, first)
    if opener != '"':
        machine.patch(_name(opener), first, first + 1, '"')


def finish(machine: Machine, reading: StringReading, end: int) -> None:
    """The string is read up to `end`: it was a key, a value, or an item that proves to be a key."""
    if reading.where == "i" and machine.inside != "{" and string_end.colon.match(machine.raw, end, machine.end):
        missing_tokens.item_is_key(machine, reading.start, end)
    else:
        machine.string_done(end)


def _ran_out(machine: Machine, reading: StringReading) -> None:
    """No quote closed the string for certain before the region's end."""
    if (stop := string_quotes.swallowed_key(machine, reading, machine.end)) >= 0:
        close_before(machine, reading, stop)
        return
    alone = reading.best_score and reading.inner <= 1
    if reading.best_score > 1 or (alone and string_quotes.end_of_unclosed(machine, reading) < machine.end):
        machine.look -= machine.end - reading.best
        reading.patches[reading.best_patches :] = reading.best_extra
        close(machine, reading, reading.best)
        return
    _open_cut(machine, reading)


def _open_cut(machine: Machine, reading: StringReading) -> None:
    """The string never closes: the closers and tags at the very end are not part of it; else it was cut off."""
    if reading.where == "k" and (colon := string_quotes.colon_inside(machine, reading)) > 0:
        close_before(machine, reading, colon)
        return
    if reading.where == "k":
        _drop(machine, reading.start)
        return
    at, dropped = string_quotes.end_of_unclosed(machine, reading), 0
    if at == machine.end:
        machine.truncated = True
        machine.look -= machine.end - reading.start
        at, dropped = escapes.cut_off(machine.raw, reading.open_end, at)
    if dropped:
        machine.patch("truncation", at, dropped)
    close_before(machine, reading, at, dropped)


def _drop(machine: Machine, start: int) -> None:
    """The region ends inside a key that began at `start`, of which nothing can be kept."""
    begin = machine.comma if machine.comma >= 0 else start
    machine.unpatch(begin, begin + 1)
    machine.patch("truncation", begin, machine.end)
    machine.truncated = True
    machine.comma = -1
    machine.state = "a"
    machine.last = max(machine.last, machine.frames[-1].start + 1)
    machine.at = machine.end


def _read_triple(machine: Machine, where: str) -> bool:
    """A string in Python's triple quotes, which may hold anything but those."""
    raw, start = machine.raw, machine.at
    quote = raw[start : start + 3]
    end = raw.find(quote, start + 3, machine.end)
    if end < 0:
        return False
    reading = StringReading(start, start + 3, where, "")
    machine.patch("triple_quotes", start, start + 3, '"')
    machine.patches += escapes.inside(raw, start + 3, end)
    machine.patch("triple_quotes", end, end + 3, '"')
    finish(machine, reading, end + 3)
    return True


def _name(quote: str) -> str:
    return NAMES.get(quote, "smart_quotes")
