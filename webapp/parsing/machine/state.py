"""What the machine knows while it reads: where it is, which containers are open, and the patches made so far."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webapp.parsing.edit import Edit, NotJson, edit_at
from webapp.parsing.machine.tokens import balanced_end

DEEPEST = 5_000
"""So many open containers are read: a decoder reads some hundred, and nothing deeper is ever mended."""


@dataclass(slots=True)
class Frame:
    """An open container: its bracket, where it stands, how many members it has, and whether it was doubled.

    `patch` is the index of the patch that made another bracket of it.
    """

    kind: str
    start: int
    count: int = 0
    doubled: bool = False
    as_kind: str = ""
    patch: int = -1


@dataclass(slots=True)
class Machine:
    """Reads `raw[start:end]`, which begins with a bracket, so that everything else is in a container.

    `state` is one letter: `k` key, `c` colon, `v` value, `a` after a value, `` finished.
    `last` is the end of the last value, `comma` the offset of the comma read since (or -1), `key_end` the end of
    the last key, `string_end` that of the last value read as a string. `lenient` is set where the place says that
    JSON is meant (a fence, a tag, the whole text), `final` where `end` is the end of the whole text, so that what is
    missing there was cut off. `look` is what may still be spent on looking ahead.
    """

    raw: str
    start: int
    end: int
    lenient: bool = True
    final: bool = True
    at: int = 0
    state: str = "v"
    last: int = 0
    comma: int = -1
    string_end: int = -1
    key_end: int = 0
    frames: list[Frame] = field(default_factory=list)
    patches: list[Edit] = field(default_factory=list)
    truncated: bool = False
    look: int = 1_000_000

    def patch(self, repair: str, start: int, end: int, new: str = "") -> None:
        self.patches.append(edit_at(self.raw, repair, start, end, new))

    def replace(self, repair: str, match: re.Match[str], new: str = "", *, value: bool = False) -> bool:
        """Put `new` in the place of what `match` holds and move on; with `value` a value ended there. Always True."""
        self.patch(repair, match.start(), match.end(), new)
        self.at = match.end()
        if value:
            self.value_done(match.end())
        return True

    def unpatch(self, start: int, end: int) -> None:
        """Take back the recent patch of exactly `raw[start:end]`, where there is one."""
        for index in range(len(self.patches) - 1, max(-1, len(self.patches) - 9), -1):
            if self.patches[index].span == (start, end):
                del self.patches[index]
                return

    def value_done(self, end: int) -> None:
        """A value ended at `end`."""
        self.at = self.last = end
        self.comma = -1
        if self.frames:
            self.frames[-1].count += 1
            self.state = "a"
        else:
            self.state = ""

    def key_done(self, end: int) -> bool:
        """A key ended at `end`. Always True."""
        self.at = self.key_end = end
        self.state = "c"
        return True

    def string_done(self, end: int) -> bool:
        """A string ended at `end`, which is a key or a value. Always True."""
        if self.state == "k":
            return self.key_done(end)
        self.string_end = end
        self.value_done(end)
        return True

    def comma_read(self, at: int) -> None:
        """A comma stands at `at` (-1: one is missing), behind which the next member or item follows."""
        self.comma, self.state = at, "k" if self.inside == "{" else "v"

    def push(self, kind: str, width: int = 1, *, as_kind: str = "") -> None:
        """Open a container that stands at `at`. Raises `NotJson` behind all of them where they are too many."""
        if len(self.frames) > DEEPEST:
            end = balanced_end(self.raw, self.start, self.end)
            raise NotJson(end if end > 0 else self.end, f"nested more than {DEEPEST:,} deep, which no decoder reads")
        as_kind = as_kind or kind
        self.frames.append(Frame(kind, self.at, 0, False, as_kind, len(self.patches) - 1))
        self.at += width
        self.comma = -1
        self.state = "k" if as_kind == "{" else "v"

    @property
    def inside(self) -> str:
        """The kind of the innermost open container, or nothing."""
        return self.frames[-1].as_kind if self.frames else ""


@dataclass(slots=True)
class StringReading:
    """A string being read: patches so far, and the best place to close it met so far."""

    start: int
    open_end: int
    where: str
    closers: str
    patches: list[Edit] = field(default_factory=list)
    inner: int = 0
    twice: int = 0
    best: int = -1
    best_score: int = 0
    best_patches: int = 0
    best_extra: tuple[Edit, ...] = ()
    counted: dict[str, tuple[int, int]] = field(default_factory=dict)

    def opened(self, raw: str, pair: str, at: int) -> int:
        """How many more of the two brackets in `pair` open than close in the string's text up to `at`."""
        counted_to, count = self.counted.get(pair, (self.open_end, 0))
        count += raw.count(pair[0], counted_to, at) - raw.count(pair[1], counted_to, at)
        self.counted[pair] = at, count
        return count
