"""The repair machine: reads one broken JSON value in a single pass, without recursion, and emits only edits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache

from webapp import plugins
from webapp.parsing import brackets, cut, gaps, lexis, quotes
from webapp.parsing.decode import scan
from webapp.parsing.edit import Edit
from webapp.parsing.patch import Patch, in_order
from webapp.parsing.patterns import later
from webapp.parsing.repair import Mend, Repair


@dataclass(slots=True)
class Frame:
    """An open container: its bracket, where it stands, how many members it has, and whether it was doubled."""

    kind: str
    start: int
    count: int = 0
    doubled: bool = False
    as_kind: str = ""


@dataclass(slots=True)
class Machine:
    """Reads `raw[start:end]`. `state` is one letter: `k` key, `c` colon, `v` value, `a` after a value, `` finished.

    `last` is the end of the last value, `comma` the offset of the comma read since (or -1), `key_end` the end of
    the last key, `string_end` that of the last value read as a string. `lenient` is set where the place says that
    JSON is meant (a fence, a tag, the whole text), `final` where `end` is the end of the whole text, so that what is
    missing there was cut off. `look` and `tries` are what may still be spent on looking ahead and on the C decoder.
    """

    raw: str
    start: int
    end: int
    lenient: bool = True
    final: bool = True
    missing: str = "null"
    at: int = 0
    state: str = "v"
    last: int = 0
    comma: int = -1
    string_end: int = -1
    key_start: int = 0
    key_end: int = 0
    frames: list[Frame] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    truncated: bool = False
    exhausted: bool = False
    look: int = 1_000_000
    tries: int = 100_000

    def run(self) -> None:
        """Read one value; afterwards `at` is where it ended. Raises `Refused` where it is no JSON."""
        self.at = self.last = self.start
        steps = STEPS
        raw, end, skip = self.raw, self.end, lexis.space.match
        while self.state:
            at = self.at
            if at < end and raw[at] in " \t\r\n" and (space := skip(raw, at, end)):
                at = self.at = space.end()
            if at >= end:
                cut.finish(self)
            else:
                steps[self.state](self, raw[at])

    def edits(self) -> list[Edit]:
        """The edits, in order, once `run` has returned."""
        return in_order(self.raw, self.patches)

    def patch(self, repair: str, start: int, end: int, new: str = "") -> None:
        self.patches.append(Patch(start, end, new, repair))

    def unpatch(self, start: int, end: int) -> bool:
        """Take back the recent patch of exactly `raw[start:end]`, where there is one."""
        for index in range(len(self.patches) - 1, max(-1, len(self.patches) - 9), -1):
            if self.patches[index][:2] == (start, end):
                del self.patches[index]
                return True
        return False

    def value_done(self, end: int) -> None:
        """A value ended at `end`."""
        self.at = self.last = end
        self.comma = -1
        if self.frames:
            self.frames[-1].count += 1
            self.state = "a"
        else:
            self.state = ""

    def push(self, kind: str, width: int = 1, *, as_kind: str = "") -> None:
        """Open a container that stands at `at`."""
        self.frames.append(Frame(kind, self.at, as_kind=as_kind or kind))
        self.at += width
        self.comma = -1
        self.state = "k" if self.frames[-1].as_kind == "{" else "v"

    @property
    def inside(self) -> str:
        """The kind of the innermost open container, or nothing."""
        return self.frames[-1].as_kind if self.frames else ""


@cache
def repairs() -> dict[str, Repair]:
    """Every repair by name."""
    return plugins.collect("webapp.parsing.repairs")


@lru_cache(maxsize=4096)
def _tokens(state: str, char: str) -> tuple[tuple[re.Pattern[str], Mend], ...]:
    """The repairs that may begin with `char` in `state`, in the order they are tried."""
    wide = "\x80" if char >= "\x80" else char
    found = [
        r for r in repairs().values() if state in r.states and (not r.starts or char in r.starts or wide in r.starts)
    ]
    found.sort(key=lambda repair: repair.order)
    return tuple((re.compile(repair.pattern), repair.mend) for repair in found if repair.mend)


def mend(machine: Machine, char: str) -> bool:
    """Try the repairs whose pattern may begin with `char`; True where one of them moved the machine on."""
    for pattern, repair in _tokens(machine.state, char):
        match = pattern.match(machine.raw, machine.at, machine.end)
        if match and repair(machine, match):
            return True
    return False


def _key(machine: Machine, char: str) -> None:
    raw, at, end = machine.raw, machine.at, machine.end
    if char == '"':
        if run := lexis.members.match(raw, at, end):
            _eat(machine, run.end())
            return
        if clean := lexis.key.match(raw, at, end):
            machine.key_start, machine.key_end = at, clean.end()
            machine.at, machine.state = clean.end(), "c"
            return
    if char in "}])":
        brackets.close(machine, char)
    elif not mend(machine, char) and not quotes.read(machine, "k"):
        gaps.stray_in_key(machine, char)


def _eat(machine: Machine, end: int) -> None:
    """Clean members up to `end`, the last of them with its comma: only the last comma's place is needed."""
    raw = machine.raw
    comma = raw.rfind(",", machine.at, end)
    last = comma
    while raw[last - 1] in " \t\r\n":
        last -= 1
    machine.at, machine.last, machine.comma = end, last, comma
    machine.frames[-1].count += 1


def _colon(machine: Machine, char: str) -> None:
    if char == ":":
        machine.at += 1
        machine.state = "v"
    elif not mend(machine, char):
        gaps.no_colon(machine, char)


def _value(machine: Machine, char: str) -> None:
    raw, at, end = machine.raw, machine.at, machine.end
    item = machine.inside != "{"
    if item and machine.frames and (run := lexis.items.match(raw, at, end)):
        _eat(machine, run.end())
        return
    if char == '"':
        clean = (lexis.settled_item if item else lexis.settled).match(raw, at, end)
    else:
        clean = lexis.plain.match(raw, at, end)
    if clean and not item and _thousands.match(raw, clean.end(), end) and mend(machine, char):
        return
    if clean:
        machine.string_end = clean.end() if char == '"' else -1
        machine.value_done(clean.end())
    elif char in "{[":
        _container(machine, char)
    elif char in "}])":
        brackets.close(machine, char)
    elif not mend(machine, char) and not quotes.read(machine, "i" if item else "v"):
        gaps.no_value(machine, char)


def _container(machine: Machine, char: str) -> None:
    """A container that the C decoder reads is eaten whole, as long as failures stay within the budget."""
    if machine.frames and machine.tries > 0:
        stop, cost = scan(machine.raw, machine.at)
        if -1 < stop <= machine.end:
            machine.value_done(stop)
            return
        machine.tries -= cost
    if not mend(machine, char):
        machine.push(char)


def _after(machine: Machine, char: str) -> None:
    if char == ",":
        machine.comma = machine.at
        machine.at += 1
        machine.state = "k" if machine.inside == "{" else "v"
    elif char in "}])":
        brackets.close(machine, char)
    elif not mend(machine, char):
        gaps.no_comma(machine, char)


_thousands = later(r",\d{3}(?!\d)")
STEPS = {"k": _key, "c": _colon, "v": _value, "a": _after}

__all__ = ["Frame", "Machine", "mend", "repairs"]
