"""What a rule of findings is, what it may know of a session, the finding that it makes, and words for its clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webapp.plugins import defect

if TYPE_CHECKING:
    from webapp.contracts.contract import Contract
    from webapp.findings.tool_calls import CallTracker
    from webapp.parsing.trace import Trace

Severity = Literal["high", "medium", "low"]
Detail = dict[str, Any]

EVERY_KIND = ("response", "tool_call", "tool_result", "prompt", "error", "event")
"""kinds of turns, for a rule that looks at all of them"""
MODEL = ("response", "tool_call")
CUT, OTHERWISE = ("length", "context", "dropped"), ("filtered", "refused", "malformed", "error", "paused")
"""reasons to stop: by which the end alone may be at fault, and those that say why something is missing"""
MOST_TURNS = 200
"""How many positions a finding keeps; `count` in its detail counts them all."""


class TurnView(NamedTuple):
    """One turn as the rules see it. `kind` is "again" for an entry that the logger wrote twice.

    `home` and `ours` are the traces under the home profile and `fencepost`, the same object where that is one
    profile; None where nothing was parsed. `answers` is the position of the response that an error speaks of.
    `stop` is why the model stopped ("length", "filtered" …, by `messages.metadata`), and `most_rounds` is the
    limit that the entry sets, where the log says so. `reasoning` counts the tokens of `tokens_out` that were thought,
    as the entry says; `is_error` says of a tool's result that the log calls it an error. `declared` is what the request
    that it answers declares, `host` who served the model. What the log does not say is None.
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
    home: Trace | None = None
    ours: Trace | None = None
    stop: str | None = None
    most_rounds: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    reasoning: int | None = None
    is_error: bool | None = None
    contract: Contract | None = None
    declared: dict[str, Any] | None = None
    host: str | None = None

    @property
    def failed(self) -> bool:
        """Whether its program could not read it: the dump records it, or its home profile failed."""
        return self.failure is not None or (self.home is not None and self.home.verdict == "failed")


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What the rules know of the session: its home profile, who would have read a text, and its calls up to a turn."""

    home: str
    readers: Callable[[str], list[str]]
    calls: CallTracker


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """Something a rule noticed; `turns` are positions, at most 200 of them, `detail` what its reason is made from."""

    rule: str
    severity: Severity
    turns: tuple[int, ...]
    detail: Detail

    @property
    def count(self) -> int:
        """How many turns show it, those beyond `turns` included."""
        return int(self.detail.get("turns", len(self.turns)))


@dataclass(slots=True)
class MarkedTurns:
    """The positions that show a finding: the first 200, and how many there are."""

    positions: list[int] = field(default_factory=list)
    count: int = 0

    def add(self, position: int) -> None:
        self.count += 1
        if len(self.positions) < MOST_TURNS:
            self.positions.append(position)


class Observer:
    """A rule over one session: it sees the turns in order, in bounded memory, and marks those that show something.

    A rule that decides something at the end has a `settle`, one that may find several things an `end` of its own.
    """

    def __init__(self, context: RuleContext) -> None:
        self.context = context
        self.home = context.home
        self.marked = MarkedTurns()

    def see(self, turn: TurnView) -> None:
        raise NotImplementedError

    def detail(self) -> Detail:
        """What the reason is made from; asked for at the end, where turns were marked."""
        return {}

    def settle(self) -> None:
        """Mark what shows only now that no more turns come."""

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        self.settle()
        if self.marked.count:
            yield self.marked, self.detail()


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
    observer: Callable[[RuleContext], Observer]
    says: Callable[[Detail], str]


_SMALL = ("no", "one", "two", "three")


def number(count: int, noun: str, many: str | None = None) -> str:
    """`one tool call`, `4 tool calls`."""
    word = noun if count == 1 else many or noun + "s"
    return f"{_SMALL[count] if count < 2 else f'{count:,}'} {word}"


def defects(repairs: Iterable[str], most: int = 2) -> str:
    """What was wrong, by the repairs that mended it: `extra closing bracket and trailing comma`."""
    names = list(dict.fromkeys(map(defect, repairs)))
    return _joined(names[:most])


def _joined(names: Sequence[str]) -> str:
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + list(names[-1:]))


def names(values: Iterable[str], most: int = 3) -> str:
    """Names as code, joined with commas and an `and`."""
    return _joined([code(value) for value in list(values)[:most]])


def code(text: str, most: int = 60) -> str:
    """Text from a session as a code span: bounded, and without backticks of its own."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{short.replace('`', '') or ' '}`"
