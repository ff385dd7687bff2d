"""The loop of the repair machine: reads one broken JSON value in a single pass, without recursion."""

from __future__ import annotations

import re
from typing import cast

from webapp.parsing.edit import NotJson, trimmed
from webapp.parsing.machine import closers, missing_tokens, strings, tokens
from webapp.parsing.machine.repair import candidates
from webapp.parsing.machine.state import Machine
from webapp.parsing.patterns import later

MOST = 20_000
"""So many edits are made of a text that needs one for every other character."""


def read_value(machine: Machine) -> None:
    """Read one value; afterwards `machine.at` is where it ended. Raises `NotJson` where it is none."""
    machine.at = machine.last = machine.start
    raw, end, skip, steps = machine.raw, machine.end, tokens.space.match, _STEPS
    while machine.state:
        at = machine.at
        if at < end and raw[at] in " \t\r\n" and (space := skip(raw, at, end)):
            at = machine.at = space.end()
        if at >= end:
            _finish(machine)
        else:
            steps[machine.state](machine, raw[at])


def _finish(machine: Machine) -> None:
    """The region ends between two tokens: everything open is closed, and said to be cut off."""
    if not machine.frames:
        raise NotJson(machine.at, "nothing follows")
    hanging = machine.state == "c" or (machine.state == "v" and machine.inside == "{")
    machine.truncated = machine.truncated or machine.final or hanging
    closers.close_missing(machine, 0)
    machine.state = ""
    machine.at = max(machine.end, machine.last)


def _mend(machine: Machine, char: str) -> bool:
    """Try the repairs whose pattern may begin with `char`; True where one of them moved the machine on."""
    if len(machine.patches) > max(MOST, (machine.at - machine.start) // 2):
        raise NotJson(machine.at, "every other character would have to be changed")
    for pattern, mend in candidates(machine.state, char):
        match = pattern.match(machine.raw, machine.at, machine.end)
        if match and mend(machine, match):
            return True
    return False


def _key(machine: Machine, char: str) -> None:
    raw, at, end = machine.raw, machine.at, machine.end
    if char == '"':
        clean = cast("re.Match[str]", tokens.members.match(raw, at, end))  # always matches
        if (run := clean.end("run")) > at:
            _eat(machine, run)
        if (stop := clean.end()) > run:
            machine.key_end = clean.end("key")
            machine.at, machine.state = stop, "v"
            if stop < end:
                _value(machine, raw[stop])
        if stop > at:
            return
    if char in "}])":
        closers.close(machine, char)
    elif not _mend(machine, char) and not strings.read_string(machine, "k"):
        missing_tokens.stray_in_key(machine, char)


def _eat(machine: Machine, end: int) -> None:
    """Clean members or items up to `end`, the last of them with its comma, or before the bracket that closes it."""
    last = trimmed(machine.raw, end)
    machine.value_done(last)
    if machine.raw[last - 1] == ",":
        machine.at, machine.last = end, trimmed(machine.raw, last - 1)
        machine.comma_read(last - 1)


def _colon(machine: Machine, char: str) -> None:
    if char == ":" and not machine.raw.startswith("=", machine.at + 1):
        machine.at += 1
        machine.state = "v"
    elif not _mend(machine, char):
        missing_tokens.no_colon(machine, char)


def _value(machine: Machine, char: str) -> None:
    raw, at, end = machine.raw, machine.at, machine.end
    item = machine.inside != "{"
    if item and machine.frames and (run := tokens.items.match(raw, at, end)):
        _eat(machine, run.end())
        return
    if char in "{[":
        if not _mend(machine, char):
            machine.push(char)
        return
    if char in "}])":
        closers.close(machine, char)
        return
    pattern = tokens.plain
    if char == '"':
        pattern = tokens.assigned if raw[trimmed(raw, at) - 1] == "=" else tokens.settled
    clean = None if item and char == '"' else pattern.match(raw, at, end)
    if clean and not item and _thousands.match(raw, clean.end(), end) and _mend(machine, char):
        return
    if clean:
        machine.string_end = clean.end() if char == '"' else -1
        machine.value_done(clean.end())
    elif char in "\"'" and not item and _member_next.match(raw, at, end):
        missing_tokens.value_left_out(machine)
    elif not _mend(machine, char) and not strings.read_string(machine, "i" if item else "v"):
        missing_tokens.no_value(machine, char)


def _after(machine: Machine, char: str) -> None:
    if char == ",":
        machine.comma_read(machine.at)
        machine.at += 1
    elif char in "}])":
        closers.close(machine, char)
    elif not _mend(machine, char):
        missing_tokens.no_comma(machine, char)


_member_next = later(
    rf"""(["'])[^"'\\\n]{{1,60}}+\1{tokens.SPACE}:{tokens.SPACE}(?:(?:{tokens.SCALAR}|'[^'\n]{{0,99}}+'){tokens.SPACE}[,}}]|[\[{{])"""
)
"""A key and its value where a value belongs."""
_thousands = later(r",(?:\d{3}(?!\d)|\d++\s*+(?:\}|,\s*+\"))")
"""Behind a number, digits that are of it: thousands, or decimals as other languages part them."""
_STEPS = {"k": _key, "c": _colon, "v": _value, "a": _after}
