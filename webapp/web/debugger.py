"""The debugger's state: which profile, which attempt, after which edit, and what each of them looks like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.parsing import Attempt, Trace
from webapp.parsing.decode import decode
from webapp.parsing.edit import Edit, apply
from webapp.parsing.span import Span, place
from webapp.web import compared, decodedview, rawview, valueview, words
from webapp.web.asked import Asked

LISTED_ATTEMPTS = 100
LISTED_EDITS = 40
DECODED_LENGTH = 200_000
"""Code points up to which a text that need not decode is decoded to see whether it does."""


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt as the list shows it."""

    index: int
    attempt: Attempt
    chosen: bool
    current: bool
    sentence: str

    @property
    def mark(self) -> str:
        if self.attempt.outcome == "accepted":
            return "repaired" if self.attempt.edits else "clean"
        return "failed" if self.attempt.outcome == "failed" else "none"


@dataclass(frozen=True, slots=True)
class EditLine:
    """One edit of the current attempt, counted from 1, with its place in the raw text."""

    number: int
    edit: Edit
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Steps:
    """Stepping through `count` edits: `edit` is the state, `back` and `on` the query's value before and after it."""

    count: int
    edit: int | None

    @property
    def back(self) -> int | None:
        return self.count if self.edit is None else self.edit - 1

    @property
    def on(self) -> int | None:
        if self.edit is None:
            return 1
        return None if self.edit >= self.count else self.edit + 1


@dataclass(frozen=True, slots=True)
class Opened:
    """The current attempt, opened: what its text decodes to, or why it does not, and the views that there are."""

    views: tuple[str, ...]
    view: str | None
    length: int
    edits: list[EditLine]
    edits_left: int
    steps: Steps
    value: valueview.ValueView | None = None
    decoded: decodedview.DecodedView | None = None
    hunks: Sequence[decodedview.Hunk] = ()
    hunks_left: int = 0
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that the raw pane and the attempts pane draw; `go` makes the URL of a state from its query."""

    trace: Trace
    profile: str
    home: str
    column: compared.Column
    index: int | None
    lines: list[AttemptLine]
    hidden_attempts: int
    raw: rawview.RawView
    opened: Opened | None
    sentence: str
    edit: int | None
    view: str | None
    marked: Span | None
    go: Callable[..., str]
    posts: bool = False
    """whether a step has to bring the text along, since no URL holds it"""

    @property
    def current(self) -> Attempt | None:
        return None if self.index is None else self.trace.attempts[self.index]

    @property
    def other(self) -> str:
        """The profile that one key leads to: `fencepost`, or home where `fencepost` is being looked at."""
        return self.home if self.profile == "fencepost" else "fencepost"

    def url(self, **changes: Any) -> str:
        """The URL of this state with `changes`; None takes a part away."""
        state = {"profile": self.profile, "attempt": self.index, "edit": self.edit, "view": self.view} | changes
        return self.go(**{name: value for name, value in state.items() if value is not None})


def bench(
    raw: str, found: dict[str, Trace | str], names: list[str], home: str, asked: Asked, go: Callable[..., str]
) -> Bench:
    """The state for one response; `found` holds the traces, that of the profile asked for among them."""
    profile = asked.profile or home
    shown = found[profile]
    trace = shown if isinstance(shown, Trace) else Trace(profile, "", "failed", (), (), ())
    index = asked.attempt if asked.attempt is not None and asked.attempt < len(trace.attempts) else _telling(trace)
    current = None if index is None else trace.attempts[index]
    edit = None if asked.edit is None or not current or not current.edits else min(asked.edit, len(current.edits))
    focus = rawview.Focus(index, edit, asked.marked(raw), asked.windows(raw))
    return Bench(
        trace=trace,
        profile=profile,
        home=home,
        column=compared.column(raw, found, names, profile),
        index=index,
        lines=_lines(trace, index),
        hidden_attempts=max(0, len(trace.attempts) - LISTED_ATTEMPTS),
        raw=rawview.view(raw, trace.attempts, focus),
        opened=_opened(raw, current, edit, asked.view) if current else None,
        sentence=_sentence(found, profile, home),
        edit=edit,
        view=asked.view,
        marked=focus.range,
        go=go,
    )


def _telling(trace: Trace) -> int | None:
    """The attempt that tells most: the first chosen one, else the last that failed, else the last."""
    if trace.chosen:
        return trace.chosen[0]
    failed = [index for index, attempt in enumerate(trace.attempts) if attempt.outcome == "failed"]
    if failed and trace.verdict == "failed":
        return failed[-1]
    return len(trace.attempts) - 1 if trace.attempts else None


def _lines(trace: Trace, current: int | None) -> list[AttemptLine]:
    near = () if current is None else (current - 1, current, current + 1)
    listed = {*range(LISTED_ATTEMPTS), *near, *trace.chosen[:20]}
    return [
        AttemptLine(
            index,
            trace.attempts[index],
            index in trace.chosen,
            index == current,
            words.attempt_sentence(trace.attempts[index], index in trace.chosen),
        )
        for index in sorted(listed)
        if 0 <= index < len(trace.attempts)
    ]


def _opened(raw: str, attempt: Attempt, edit: int | None, view: str | None) -> Opened:
    edits = attempt.edits if edit is None else attempt.edits[:edit]
    text = apply(raw, attempt.span, edits)
    sure = attempt.outcome == "accepted" and len(edits) == len(attempt.edits)
    trouble = None if sure else _trouble(text, attempt, edits)
    views = (*(("value",) if trouble is None else ()), "text", *(("diff",) if edits else ()))
    shown = view if view in views else views[0] if trouble is None else None
    first = max(0, min((edit or 1) - LISTED_EDITS // 2, len(attempt.edits) - LISTED_EDITS))
    hunks, left = decodedview.hunks(raw, attempt.span, edits) if shown == "diff" else ([], 0)
    return Opened(
        views,
        shown,
        len(text),
        _edit_lines(raw, attempt.edits, first),
        max(0, len(attempt.edits) - LISTED_EDITS),
        Steps(len(attempt.edits), edit),
        valueview.view(text, attempt.span, edits) if shown == "value" else None,
        decodedview.view(raw, attempt.span, edits, len(text)) if shown == "text" else None,
        hunks,
        left,
        trouble,
    )


def _trouble(text: str, attempt: Attempt, edits: Sequence[Edit]) -> str | None:
    """Why `text` does not decode; empty where the attempt itself says it, None where it decodes."""
    if attempt.outcome == "failed" and len(edits) == len(attempt.edits):
        return ""
    if len(text) > DECODED_LENGTH:
        return "Too long to be decoded again for this state."
    failure = decode(text).failure
    if failure is None:
        return None
    line, column = place(text, failure.at)
    where = f"line {line}, column {column} of the decoded text"
    return f"In this state it does not decode: {words.wording(failure.message)} at {where}."


def _edit_lines(raw: str, edits: Sequence[Edit], first: int) -> list[EditLine]:
    found, line, at = [], 1, 0
    for number, edit in enumerate(edits[first : first + LISTED_EDITS], first + 1):
        line += raw.count("\n", at, edit.span.start)
        at = edit.span.start
        found.append(EditLine(number, edit, line, at - raw.rfind("\n", 0, at)))
    return found


def _sentence(found: dict[str, Trace | str], profile: str, home: str) -> str:
    """What the shown profile made of the response, and the other of the two that matter."""
    own = f"`{profile}` {said(found[profile])}"
    other = "fencepost" if profile != "fencepost" else home
    if other == profile or other not in found:
        return f"{own}."
    return f"{own}; `{other}` {said(found[other])}."


def said(trace: Trace | str) -> str:
    """What a profile made of a response, in words, without its name."""
    return "broke" if isinstance(trace, str) else words.trace_sentence(trace)
