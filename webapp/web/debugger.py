"""The debugger's state: which profile, which attempt, after which edit, and what each of them looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webapp.parsing import Attempt, Trace, words
from webapp.parsing.decode import decode
from webapp.parsing.drawing import telling
from webapp.parsing.edit import Edit, Span, apply, place
from webapp.store.write.parser import OURS, READ_AS
from webapp.web import decodedview, rawview, verdict_column, windows
from webapp.web.links import number_in

VIEWS = ("value", "text")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class DebuggerQuery:
    """`edit` 0 is the state before any edit, None the one after all; `lines` and `characters` are further windows."""

    profile: str | None = None
    attempt: int | None = None
    edit: int | None = None
    view: str | None = None
    range: Span | None = None
    lines: Span | None = None
    characters: Span | None = None

    def windows(self, raw: str) -> tuple[Span, ...]:
        """The further windows, as spans of `raw`."""
        stretches = [windows.of_lines(raw, *self.lines)] if self.lines else []
        return (*stretches, *([windows.of_characters(raw, *self.characters)] if self.characters else []))

    def marked(self, raw: str) -> Span | None:
        """The marked range as far as it lies in `raw`."""
        if self.range is None or self.range.start >= len(raw):
            return None
        return Span(self.range.start, min(self.range.end, len(raw)))


def from_args(args: Mapping[str, str]) -> DebuggerQuery:
    """What the query asks for; what makes no sense is as if it were not there."""
    view = args.get("view")
    return DebuggerQuery(
        args.get("profile") or None,
        number_in(args.get("attempt")),
        number_in(args.get("edit")),
        view if view in VIEWS else None,
        _span(args.get("r")),
        _span(args.get("lines")),
        _span(args.get("chars")),
    )


def _span(text: str | None) -> Span | None:
    match = _RANGE.fullmatch(text or "")
    if not match or int(match[1]) > int(match[2]):
        return None
    return Span(int(match[1]), int(match[2]))


LISTED_ATTEMPTS, LISTED_EDITS = 100, 40
DECODED_LENGTH = 200_000
"""Code points up to which a text that need not decode is decoded to see whether it does."""


@dataclass(frozen=True, slots=True)
class DebuggerState:
    """Everything that the raw pane and the attempts pane draw; `go` makes the URL of a state from its query."""

    trace: Trace
    profile: str
    home: str
    column: verdict_column.VerdictColumn
    index: int | None
    lines: list[dict[str, Any]]
    hidden_attempts: int
    is_asked: bool
    """whether the address names the attempt"""
    raw: rawview.RawView
    opened: dict[str, Any] | None
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
    def flags(self) -> list[str]:
        """What is not sure of the values, each with its place."""
        return words.placed_flags(self.trace.flags)[:8]

    @property
    def other(self) -> str:
        """The profile that one key leads to: the other of the two that matter."""
        return _other(self.profile, self.home)

    def url(self, **changes: Any) -> str:
        """The URL of this state with `changes`; None takes a part away."""
        query = {"profile": self.profile, "attempt": self.index, "edit": self.edit, "view": self.view} | changes
        return self.go(**{name: value for name, value in query.items() if value is not None})


def state(
    raw: str, traces: Mapping[str, Trace], home: str, query: DebuggerQuery, go: Callable[..., str]
) -> DebuggerState:
    """The state for one response; `traces` are by profile, that of the profile asked for among them."""
    profile = query.profile or home
    trace = traces.get(profile) or Trace(profile, "", "failed", (), (), ())
    index = query.attempt if query.attempt is not None and query.attempt < len(trace.attempts) else _telling(trace)
    current = None if index is None else trace.attempts[index]
    edit = None if query.edit is None or not current or not current.edits else min(query.edit, len(current.edits))
    attempts = list(trace.attempts)
    if index is not None and query.attempt is None and trace.verdict == "failed" and not attempts[index].edits:
        attempts[index] = replace(attempts[index], edits=_mending(traces))
    focus = rawview.Focus(index, edit, query.marked(raw), query.windows(raw))
    return DebuggerState(
        trace=trace,
        profile=profile,
        home=home,
        column=verdict_column.column(raw, traces, verdict_column.order(home), profile),
        index=index,
        lines=_lines(trace, index),
        hidden_attempts=max(0, len(trace.attempts) - LISTED_ATTEMPTS),
        is_asked=query.attempt is not None,
        raw=rawview.view(raw, attempts, focus),
        opened=_opened(raw, current, edit, query.view) if current else None,
        sentence=_sentence(traces, trace, home),
        edit=edit,
        view=query.view,
        marked=focus.range,
        go=go,
    )


def _mending(traces: Mapping[str, Trace]) -> tuple[Edit, ...]:
    """The edits of every value that `fencepost` reads, to be drawn beside where another parser stopped."""
    ours = traces.get("fencepost")
    mended = telling(ours) if ours and ours.chosen else []
    return tuple(edit for attempt in mended for edit in attempt.edits)


def _telling(trace: Trace) -> int | None:
    """The attempt that tells most (see `drawing.telling`), else the last."""
    attempts = telling(trace)
    if attempts:
        return next(index for index, attempt in enumerate(trace.attempts) if attempt is attempts[0])
    return len(trace.attempts) - 1 if trace.attempts else None


def _lines(trace: Trace, current: int | None) -> list[dict[str, Any]]:
    """The attempts that are listed; `is_look` says that a place was only looked at, beside others: it is folded."""
    near = () if current is None else (current - 1, current, current + 1)
    listed = {*range(LISTED_ATTEMPTS), *near, *trace.chosen[:20]}
    lines = []
    for index in sorted(listed.intersection(range(len(trace.attempts)))):
        attempt, chosen = trace.attempts[index], index in trace.chosen
        marks = {"accepted": "repaired" if attempt.edits else "clean", "failed": "failed"}
        lines.append(
            {
                "index": index,
                "attempt": attempt,
                "chosen": chosen,
                "current": index == current,
                "sentence": words.attempt_sentence(attempt, chosen),
                "is_look": words.is_look(trace, index),
                "mark": marks.get(attempt.outcome, "none"),
            }
        )
    return lines


def _opened(raw: str, attempt: Attempt, edit: int | None, view: str | None) -> dict[str, Any]:
    """The current attempt, opened: what its text decodes to, or why it does not, and the views that there are."""
    edits = attempt.edits if edit is None else attempt.edits[:edit]
    text = apply(raw, attempt.span, edits)
    sure = attempt.outcome == "accepted" and len(edits) == len(attempt.edits)
    trouble = None if sure else _trouble(text, attempt, edits)
    views = VIEWS if trouble is None else ("text",)
    shown_view = view if view in views else views[0] if trouble is None else None
    first = max(0, min((edit or 1) - LISTED_EDITS // 2, len(attempt.edits) - LISTED_EDITS))
    return {
        "views": views,
        "view": shown_view,
        "length": len(text),
        "edits": _edit_lines(raw, attempt.edits, first),
        "edits_left": max(0, len(attempt.edits) - LISTED_EDITS),
        "value": decodedview.value_view(text, attempt.span, edits) if shown_view == "value" else None,
        "decoded": decodedview.view(raw, attempt.span, edits, len(text)) if shown_view == "text" else None,
        "trouble": trouble,
    }


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


def _edit_lines(raw: str, edits: Sequence[Edit], first: int) -> list[dict[str, Any]]:
    """Edits of the current attempt, counted from 1, each with its place in the raw text."""
    edit_lines, line, at = [], 1, 0
    for number, edit in enumerate(edits[first : first + LISTED_EDITS], first + 1):
        line += raw.count("\n", at, edit.span.start)
        at = edit.span.start
        edit_lines.append({"number": number, "edit": edit, "line": line, "column": at - raw.rfind("\n", 0, at)})
    return edit_lines


def _other(profile: str, home: str) -> str:
    """`fencepost`, and where that is being looked at, home; where home is ours too, what an unknown one is read as."""
    return OURS if profile != OURS else home if home != OURS else READ_AS


def _sentence(traces: Mapping[str, Trace], trace: Trace, home: str) -> str:
    """What the shown profile made of the response, and the other of the two that matter."""
    first = f"`{words.called(trace.profile)}` {words.trace_sentence(trace)}"
    second = _other(trace.profile, home)
    is_plain = home == OURS and trace.verdict in ("clean", "none")
    if second not in traces or (is_plain and second == READ_AS):
        return f"{first}."
    return f"{first}; `{words.called(second)}` {words.trace_sentence(traces[second])}."
