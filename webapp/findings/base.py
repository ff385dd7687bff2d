"""What a rule sees of a turn, and what it says in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

Severity = Literal["high", "medium", "low"]
Detail = dict[str, Any]

MOST_TURNS = 200
"""How many positions a finding keeps; `count` in its detail counts them all."""


class Edited(Protocol):
    @property
    def repair(self) -> str: ...


class Place(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Said(Protocol):
    @property
    def message(self) -> str: ...


class Tried(Protocol):
    """An attempt of a trace, as `webapp.parsing` makes it."""

    @property
    def strategy(self) -> str: ...
    @property
    def span(self) -> Place: ...
    @property
    def outcome(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def edits(self) -> Sequence[Edited]: ...
    @property
    def error(self) -> Said | None: ...


class Read(Protocol):
    """A trace, as `webapp.parsing` makes it."""

    @property
    def verdict(self) -> str: ...
    @property
    def attempts(self) -> Sequence[Tried]: ...
    @property
    def chosen(self) -> Sequence[int]: ...
    @property
    def values(self) -> Sequence[Any]: ...
    @property
    def truncated(self) -> bool: ...


class Seen(NamedTuple):
    """One turn as the rules see it. `kind` is "again" for an entry that the logger wrote twice.

    `home` and `ours` are the traces under the home profile and `fencepost`, the same object where that is one
    profile; None where nothing was parsed. `answers` is the position of the response that an error speaks of.
    `finish` is why the model stopped, and `most_rounds` the limit that the entry sets, where it says so.
    """

    position: int
    entry: int
    kind: str
    role: str | None = None
    agent: str | None = None
    model: str | None = None
    phase: str | None = None
    sounding: int | None = None
    round: int | None = None
    raw: str | None = None
    tool_calls: Sequence[Any] | None = None
    failure: str | None = None
    answers: int | None = None
    sent_at: datetime | None = None
    home: Read | None = None
    ours: Read | None = None
    finish: str | None = None
    most_rounds: int | None = None


def nobody(raw: str) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class About:
    """What the rules know of the whole session: its home profile, and who would have read a text."""

    home: str
    readers: Callable[[str], list[str]] = nobody


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a rule noticed; `turns` are positions, at most 200 of them, `detail` what its reason is made from."""

    rule: str
    severity: Severity
    turns: tuple[int, ...]
    detail: Detail

    @property
    def count(self) -> int:
        """How many turns show it, those beyond `turns` included."""
        return int(self.detail.get("turns", len(self.turns)))


class Watch(Protocol):
    """A rule over one session: it sees the turns in order, in bounded memory, and speaks at the end."""

    def see(self, turn: Seen) -> None: ...
    def end(self) -> Iterator[tuple[Marks, Detail]]: ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: which kinds of turns it looks at, how it looks at a session, and its reason in words.

    `says` makes a clause of a finding's detail, without a capital or a full stop. A page's one sentence begins with
    the clause of the lowest `rank`.
    """

    name: str
    severity: Severity
    rank: int
    kinds: tuple[str, ...]
    watch: Callable[[About], Watch]
    says: Callable[[Detail], str]


@dataclass(slots=True)
class Marks:
    """The positions that show a finding: the first 200, and how many there are."""

    positions: list[int] = field(default_factory=list)
    count: int = 0

    def add(self, position: int) -> None:
        self.count += 1
        if len(self.positions) < MOST_TURNS:
            self.positions.append(position)

    def __bool__(self) -> bool:
        return self.count > 0
