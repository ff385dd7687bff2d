"""Closing brackets: right, doubled, extra, missing or of the wrong kind, decided by what follows them."""

from __future__ import annotations

from webapp.parsing.edit import trimmed
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import (
    ARROW,
    ASCII,
    CLOSE,
    CLOSERS,
    COLON,
    COMMA,
    FLAT,
    KEY_AHEAD,
    LITERAL,
    OPENERS,
    SCALAR,
    SPACE,
    TYPESET,
    balanced_end,
    bracket,
)
from webapp.parsing.patterns import later

ANY_KEY = (
    rf"""(?:{KEY_AHEAD}|[uUbBrR]?+'[^'\n]{{1,80}}+'{SPACE}(?:[{COLON}]|{ARROW})|[`][^`\n]{{1,80}}+`{SPACE}:|[{TYPESET}”][^“”’′«»」』\n]{{1,80}}+[“”’′«»」』]{SPACE}[{COLON}]"""
    rf"""|"[^"'\n]{{1,80}}+'{SPACE}:|'[^"'\n]{{1,80}}+"{SPACE}:"""
    rf"""|(?:[^\W\d\u1100-\uffff]|\$)[\w$-]*+["']?+{SPACE}:(?!/)|:[A-Za-z_]\w*+{SPACE}=>|-?\d++(?:\.\d++)?+"?+{SPACE}:)"""
)
"""A key and its colon, however it is quoted."""
_ITEM = f"(?:{SCALAR}|{FLAT})"
_more_members = later(
    rf"""{SPACE}(?P<extra>(?:\}}{SPACE}){{1,3}}+)?+[{COMMA}]{SPACE}{ANY_KEY}"""
    rf"""|"(?:[^"\n{{}}\[\]]{{1,40}}+")?{SPACE},{SPACE}{ANY_KEY}"""
    rf"""|[ \t]{{0,20}}+\n?+[ \t]{{0,40}}+"[^"\n]{{1,60}}+"[ ]?+:[ \t\n]{{0,20}}+(?:["'\[{{\d-]|{LITERAL})"""
)
_more_items = later(rf"{SPACE},{SPACE}(?:{_ITEM}{SPACE},{SPACE})*+{_ITEM}{SPACE}\]")
_in_object = later(rf"{SPACE}(?:[}}\])]|\Z|,{SPACE}(?:{ANY_KEY}|[}}\]]|\Z))")
_in_array = later(rf"{SPACE}(?:[}}\])]|\Z|,(?!{SPACE}{ANY_KEY}))")
_at_root = later(rf"{SPACE}(?![,}}\]])")
_run = later("|".join(rf"{closer}(?:\s*+{closer}){{9,}}+|{closer}++" for closer in (r"\}", r"\]", r"\)", f"[{CLOSE}]")))
"""Closers that touch, or so many of them apart that each cannot be one that stands for another."""
tail = later(r"(?:[ \t\r\n]{0,200}+[}\]](?:[ \t\r\n]{0,20}+[}\]])*+)?+")
"""A run of closers that follows a finished value, or nothing."""
_key_before = later(r"""["']\s*+:\s*+\Z""")
text_goes_on = later(r"""[ \t]{0,20}+(?:["':]|,[ \t]{0,20}+"[^"\n]{1,60}+"[ \t]{0,20}+:)""")
DEEPEST = 64
"""How many open containers a closer of the wrong kind is compared with."""
_AHEAD = 2_000
"""So near to the region's end all brackets are counted."""


def close(machine: Machine, char: str) -> None:
    """A closing bracket stands at `machine.at`."""
    if CLOSERS[char] in (machine.frames[-1].kind, machine.frames[-1].as_kind):
        _close_top(machine)
    else:
        _mismatched(machine, char)


def _close_top(machine: Machine) -> None:
    raw, at, frame = machine.raw, machine.at, machine.frames[-1]
    if len(machine.frames) == 1 and goes_on(raw, frame.start, at + 1, machine.end):
        machine.patch("extra_closer", at, at + 1)
        machine.at += 1
        return
    is_round = frame.kind == "(" and frame.as_kind == "[" and frame.count == 1 and machine.comma < 0
    settle(machine)
    width = 1
    if is_round and raw[at] == ")" and len(machine.frames) > 1:
        machine.patches[frame.patch] = machine.patches[frame.patch]._replace(new="")
        machine.patch("tuple", at, at + 1)
    elif frame.doubled and raw.startswith("}", at + 1):
        machine.patch("doubled_brace", at + 1, at + 2)
        width = 2
    elif raw[at] != OPENERS[frame.as_kind]:
        repair = "full_width" if raw[at] in ASCII else _BRACKETS[frame.kind]
        machine.patch(repair, at, at + 1, OPENERS[frame.as_kind])
    machine.frames.pop()
    machine.value_done(at + width)


_BRACKETS = {"(": "tuple", "{": "set", "[": "square_object"}
"""What made another bracket of each kind."""


def settle(machine: Machine) -> None:
    """Make the innermost container ready to be closed: no comma, key or colon left hanging."""
    frame = machine.frames[-1]
    if machine.state == "c":
        machine.patch("missing_value", machine.key_end, machine.key_end, ": null")
        machine.last = machine.key_end
    elif machine.state == "v" and frame.as_kind == "{":
        no_value(machine)
    elif machine.comma >= 0:
        machine.unpatch(machine.comma, machine.comma + 1)
        machine.patch("trailing_comma", machine.comma, machine.comma + 1)
        machine.comma = -1


def no_value(machine: Machine) -> None:
    """A key has its colon and no value: it gets null."""
    at = trimmed(machine.raw, machine.at)
    machine.patch("missing_value", at, at, " null")
    machine.last = at


def close_missing(machine: Machine, down_to: int) -> None:
    """Insert the closers of every container above index `down_to`, right after the last thing inside the innermost."""
    settle(machine)
    at = max(machine.last, machine.frames[-1].start + 1)
    closed = machine.frames[down_to:]
    del machine.frames[down_to:]
    machine.patch("missing_closer", at, at, "".join(OPENERS[frame.as_kind] for frame in reversed(closed)))
    machine.last = at
    machine.state = "a"
    machine.comma = -1
    if machine.frames:
        machine.frames[-1].count += 1


def _mismatched(machine: Machine, char: str) -> None:
    opener = _opener_of(machine, char)
    follows = _fits(machine, opener - 1) if opener >= 0 else False
    top = len(machine.frames) - 1
    is_far = machine.end - machine.at > _AHEAD
    stays = not (is_far and follows) and _fits(machine, top)
    if stays and not is_far and (balance := closers_ahead(machine)) in (top, top + 1):
        follows, stays = False, balance == top + 1
    if follows:
        close_missing(machine, opener + 1)
    elif stays:
        # where nothing of its kind is open, none like it closes anything; else only what is far and not the last one
        limit = machine.end if opener < 0 else max(machine.at + 1, machine.end - _AHEAD)
        end = _run.match(machine.raw, machine.at, limit).end()  # type: ignore[union-attr]  # always matches
        end = max(machine.at + 1, end - (opener >= 0))
        machine.patch("extra_closer", machine.at, end)
        machine.at = end
    else:
        _replace(machine)


def closers_ahead(machine: Machine) -> int:
    """How many more brackets close than open behind this one, as far as may still be looked; else -1."""
    start, end = machine.at + 1, machine.end
    if machine.look < end - start:
        return -1
    machine.look -= 10 * (end - start)
    count = 0
    for token in bracket.finditer(machine.raw, start, end):
        char = token[0][0]
        count += (char in "}]") - (char in "{[")
    return count


def first_to_close(machine: Machine) -> str:
    """The first bracket behind `machine.at` that closes what was open before it, as far as is looked; else nothing."""
    machine.look -= 300
    limit = min(machine.end, machine.at + 600)
    end = balanced_end(machine.raw, machine.at, limit, 1) if machine.look > 0 else -1
    return machine.raw[end - 1] if end > 0 else ""


def _replace(machine: Machine) -> None:
    """This bracket is meant for the innermost container, and of the wrong kind."""
    settle(machine)
    frame = machine.frames.pop()
    machine.patch("mismatched_closer", machine.at, machine.at + 1, OPENERS[frame.as_kind])
    machine.value_done(machine.at + 1)


def _opener_of(machine: Machine, char: str) -> int:
    """Index of the innermost container that `char` closes, or -1; only so deep is looked."""
    kinds = [frame.kind for frame in machine.frames[: -DEEPEST - 1 : -1]]
    return len(machine.frames) - 1 - kinds.index(CLOSERS[char]) if CLOSERS[char] in kinds else -1


def _fits(machine: Machine, index: int) -> bool:
    """Whether what follows this bracket can stand in the container at `index` (-1: outside all)."""
    if index < 0:
        pattern = _at_root
    elif machine.frames[index].as_kind == "{":
        pattern = _in_object
    else:
        pattern = _in_array
    return pattern.match(machine.raw, machine.at + 1, machine.end) is not None


def goes_on(raw: str, start: int, end: int, limit: int) -> bool:
    """Whether more members follow a container that ended at `end`: it was closed too early.

    Closers between close what holds it, where a key stands before it.
    """
    match = (_more_members if raw[start] == "{" else _more_items).match(raw, end, limit)
    return match is not None and not (match.lastgroup == "extra" and _key_before.search(raw, max(0, start - 99), start))
