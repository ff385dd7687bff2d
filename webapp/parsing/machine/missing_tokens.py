"""What the machine does where the next token is missing or is none: commas, colons, values, and giving up."""

from __future__ import annotations

from webapp.parsing.edit import NotJson
from webapp.parsing.machine import closers
from webapp.parsing.machine.closers import ANY_KEY
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import SCALAR, SPACE, place_of_opener
from webapp.parsing.patterns import later

_keyed = later(
    rf"""{ANY_KEY}|"[^"\n]{{1,40}}+"[ ]{{1,20}}+(?:-?\d[\w.]*+|[A-Za-z]{{2,9}}+|"[^"\n]{{0,80}}+"){SPACE}[,}}]"""
)
_valued = later(r"""(?!```)["'“‘`{\[\-\d]|(?:true|false|null|True|False|None|NaN)\b""")
_set = later(rf"{SPACE},(?!{SPACE}{ANY_KEY})")
_bare_item = later(r"[\w.-]{1,80}+\s{0,100}+(?:[,\]]|\w)")
_value_behind = later(rf",{SPACE}(?:{SCALAR}|'[^'\\\n]*+'){SPACE}[,}}]")
"""A comma too many before a value: what follows it is no key."""
_commas = later(rf",(?:{SPACE},)*+")
_colons = later(rf":(?:{SPACE}:)*+")
_set_items = later(r"""-?\d[\d.]*+\s{0,50}+[,}]""")
_step = later(r"(?<=\n)(?:Thought|Action(?: Input)?|Observation|Final Answer):\s")
"""What begins a line of an agent's transcript: it is no key."""
_FAR = 2_000
"""characters behind a bare item on a line of its own in which its array ends: else it is prose"""
_stray = later(r"""[^,{}\[\]"'\n]{1,80}+(?=[,}\]])""")


def no_comma(machine: Machine, char: str) -> None:
    """After a value stands neither comma nor closer."""
    raw, at, end = machine.raw, machine.at, machine.end
    if machine.inside == "{":
        if _keyed.match(raw, at, end) and not _step.match(raw, at, end):
            _insert_comma(machine)
        elif char == "{" and len(machine.frames) > 1 and machine.frames[-2].as_kind == "[":
            closers.close_missing(machine, len(machine.frames) - 1)
        else:
            _stop(machine, char)
    elif _valued.match(raw, at, end) or (char.isalpha() and _item_follows(machine)):
        _insert_comma(machine)
    else:
        _stop(machine, char)


def _item_follows(machine: Machine) -> bool:
    """A bare word follows, as another item of an array."""
    if not machine.lenient:
        return False
    raw, at, end = machine.raw, machine.at, machine.end
    if "\n" not in raw[machine.last : at]:
        return True
    return bool(_bare_item.match(raw, at, end)) and raw.find("]", at, min(end, at + _FAR)) >= 0


def _insert_comma(machine: Machine) -> None:
    machine.patch("missing_comma", machine.last, machine.last, ",")
    machine.comma_read(-1)


def _stop(machine: Machine, char: str) -> None:
    """No JSON goes on here: stray text before a delimiter is dropped, prose on a new line ends the value."""
    raw, at = machine.raw, machine.at
    stray = _stray.match(raw, at, machine.end)
    line_ends = "\n" in raw[machine.last : at]
    if stray and not line_ends:
        machine.patch("stray_text", at, stray.end())
        machine.at = stray.end()
    elif char in "`~<|)" or (line_ends and char not in "\"':}]"):
        while machine.patches and machine.patches[-1].span.end > machine.last:
            machine.patches.pop()
        closers.close_missing(machine, 0)
        machine.at, machine.state = machine.last, ""
    else:
        raise NotJson(at, f"{_shown(raw, at)} stands where a comma or a closing bracket belongs")


def no_colon(machine: Machine, char: str) -> None:
    """After a key stands no colon."""
    raw, at, end = machine.raw, machine.at, machine.end
    frame = machine.frames[-1]
    if char in ",}":
        if frame.count == 0 and frame.kind == "{" and _set.match(raw, at, end):
            machine.patch("set", frame.start, frame.start + 1, "[")
            frame.as_kind = "["
        elif _value_behind.match(raw, at, end):
            machine.patch("missing_colon", at, at + 1, ":")
            machine.at, machine.state = at + 1, "v"
            return
        else:
            machine.patch("missing_value", machine.key_end, machine.key_end, ": null")
        machine.value_done(machine.key_end)
    elif _valued.match(raw, at, end):
        machine.patch("missing_colon", machine.key_end, machine.key_end, ":")
        machine.state = "v"
    else:
        raise NotJson(at, f"{_shown(raw, at)} stands where a colon belongs")


def no_value(machine: Machine, char: str) -> None:
    """Where a value belongs stands a comma, a colon, or nothing that any repair reads."""
    at = machine.at
    if char == "," and machine.inside == "{" and not _value_behind.match(machine.raw, at, machine.end):
        closers.no_value(machine)
        machine.value_done(machine.last)
        machine.at = at
    elif char == "," and machine.inside:
        drop_commas(machine)
    elif (colons := _colons.match(machine.raw, at, machine.end)) and machine.inside == "{":
        machine.patch("doubled_colon", at, colons.end())
        machine.at = colons.end()
    else:
        raise NotJson(at, f"{_shown(machine.raw, at)} stands where a value belongs")


def value_left_out(machine: Machine) -> None:
    """Where a value belongs begins the next member."""
    closers.no_value(machine)
    machine.value_done(machine.last)
    _insert_comma(machine)


def drop_commas(machine: Machine) -> None:
    """A run of commas with nothing before each is removed as one."""
    end = _commas.match(machine.raw, machine.at, machine.end).end()  # type: ignore[union-attr]  # one stands there
    machine.patch("doubled_comma", machine.at, end)
    machine.at = end


def stray_in_key(machine: Machine, char: str) -> None:
    """Where a key belongs stands none."""
    at, frames = machine.at, machine.frames
    if char == ",":
        drop_commas(machine)
    elif len(frames) > 1 and frames[-1].count == 0 and _set_items.match(machine.raw, at, machine.end):
        machine.patch("set", frames[-1].start, frames[-1].start + 1, "[")
        frames[-1].as_kind, machine.state = "[", "v"
    elif char == "{" and machine.comma >= 0 and len(frames) > 1 and frames[-2].as_kind == "[":
        comma = machine.comma
        machine.comma = -1
        closers.close_missing(machine, len(frames) - 1)
        machine.state, machine.comma = "v", comma
    else:
        raise NotJson(at, f"{_shown(machine.raw, at)} stands where a key belongs")


def _shown(raw: str, at: int) -> str:
    return repr(raw[at : at + 12].split("\n")[0])


def item_is_key(machine: Machine, start: int, end: int) -> None:
    """An array's item has a colon: the array should have been closed, or the object before it closed too early."""
    frames = machine.frames
    machine.key_end = machine.at = end
    raw, top = machine.raw, frames[-1]
    if not top.count and top.kind == top.as_kind == "[" and closers.first_to_close(machine) == "]":
        machine.patch("square_object", top.start, top.start + 1, "{")
        top.as_kind = "{"
    elif not top.count and top.kind == "(":
        machine.patches[top.patch] = machine.patches[top.patch]._replace(new="{")
        top.as_kind = "{"
    elif len(frames) > 1 and frames[-2].as_kind == "{" and machine.comma >= 0:
        comma = machine.comma
        machine.comma = -1
        closers.close_missing(machine, len(frames) - 1)
        machine.comma = comma
    else:
        place = place_of_opener(raw, start)
        machine.patch("missing_opener", place, place, "{")
        machine.push("{", 0)
    machine.at, machine.state = end, "c"
