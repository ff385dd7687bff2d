"""The debugger's state: which profile, which attempt, and what each of them looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webapp.parsing import Attempt, Trace, profiles
from webapp.web import rawview, valueview, words

COMPARED_LENGTH = 50_000
"""Code points up to which every profile's verdict is worked out for the page; above, only those that are stored."""
LISTED_ATTEMPTS = 200


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
class Bench:
    """Everything that the raw pane and the attempts pane draw."""

    trace: Trace
    profile: str
    home: str
    traces: Mapping[str, Trace]
    index: int | None
    lines: list[AttemptLine]
    hidden_attempts: int
    raw: rawview.RawView
    edits: list[words.EditLine]
    value: valueview.ValueView | None
    sentence: str

    @property
    def current(self) -> Attempt | None:
        return None if self.index is None else self.trace.attempts[self.index]

    @property
    def other(self) -> str:
        """The profile that one key leads to: `fencepost`, or home where `fencepost` is being looked at."""
        return self.home if self.profile == "fencepost" else "fencepost"


def shown_profiles(raw: str, current: str, home: str) -> list[str]:
    """The profiles whose verdicts stand beside a response: all of them, or for a long text those two or three."""
    names = [name for name in profiles() if len(raw) <= COMPARED_LENGTH or name in (home, "fencepost", current)]
    first = [name for name in dict.fromkeys((home, "fencepost")) if name in names]
    return first + [name for name in names if name not in first]


def bench(raw: str, traces: Mapping[str, Trace], profile: str, home: str, wanted: int | None) -> Bench:
    """The state for one response; `wanted` is the attempt that the URL asks for."""
    trace = traces[profile]
    index = wanted if wanted is not None and 0 <= wanted < len(trace.attempts) else _telling(trace)
    current = None if index is None else trace.attempts[index]
    return Bench(
        trace,
        profile,
        home,
        traces,
        index,
        _lines(trace, index),
        max(0, len(trace.attempts) - LISTED_ATTEMPTS),
        rawview.view(raw, trace.attempts, current),
        words.edit_lines(raw, current) if current else [],
        _value(raw, trace, index),
        _sentence(traces, profile, home),
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
    shown = [i for i in range(len(trace.attempts)) if i < LISTED_ATTEMPTS or i == current or i in trace.chosen[:50]]
    return [
        AttemptLine(
            index,
            trace.attempts[index],
            index in trace.chosen,
            index == current,
            words.attempt_sentence(trace.attempts[index], index in trace.chosen),
        )
        for index in shown
    ]


def _value(raw: str, trace: Trace, index: int | None) -> valueview.ValueView | None:
    if index is None or trace.attempts[index].outcome == "failed":
        return None
    if index in trace.chosen:
        return valueview.view(trace.values[trace.chosen.index(index)])
    return None


def _sentence(traces: Mapping[str, Trace], profile: str, home: str) -> str:
    """What the shown profile made of the response, and the other of the two that matter."""
    own = f"`{profile}` {words.trace_sentence(traces[profile])}"
    other = "fencepost" if profile != "fencepost" else home
    if other == profile or other not in traces:
        return f"{own}."
    return f"{own}; `{other}` {words.trace_sentence(traces[other])}."
