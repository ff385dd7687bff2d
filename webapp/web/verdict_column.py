"""Every profile's verdict beside a response: which read the same value, which another, which none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from webapp import jsontext
from webapp.extensions import db
from webapp.parsing import ABSENT, Trace, UnknownProfile, profiles, words
from webapp.parsing.edit import apply
from webapp.parsing.trace import UNFIT
from webapp.store.sessions import debugger_queries
from webapp.store.sessions.turns import TurnDetail

EVERY_LENGTH = 50_000
"""Code points up to which every profile is run; a longer text is read by those that are stored or asked for."""
NO_TRACE = (ABSENT, UNFIT)
"""versions of traces that only say why there is none"""


@dataclass(frozen=True, slots=True)
class ProfileVerdict:
    """One profile's line. Profiles of one `letter` read the same value, None where nothing was read.

    `why` says in words what there is to know beyond the verdict: that it was not run, or what it raised.
    """

    profile: str
    verdict: str | None
    letter: str | None
    same: bool
    why: str | None = None
    unfit: bool = False
    """whether the stored parse does not fit the text"""


@dataclass(frozen=True, slots=True)
class VerdictColumn:
    """All lines, the one looked at among them; `values` counts the different values that were read."""

    lines: list[ProfileVerdict]
    values: int
    current: str = ""

    @property
    def first(self) -> list[ProfileVerdict]:
        """Home and `fencepost`, the one looked at, and those that read another value than home does (where that was not
        run, than `fencepost`)."""
        return [line for at, line in enumerate(self.lines) if at < 2 or self._stands_out(line)]

    @property
    def rest(self) -> list[ProfileVerdict]:
        """Those that read what home reads or nothing, and those that were not run."""
        return [line for at, line in enumerate(self.lines) if at >= 2 and not self._stands_out(line)]

    @property
    def rest_words(self) -> str:
        """`8 read the same, 14 fail, 3 find none, 2 not run`."""
        verbs = {None: "not run", "failed": "fail", "none": "find none"}
        counts = Counter(verbs.get(line.verdict, "read the same" if line.letter else "quote it") for line in self.rest)
        return ", ".join(f"{count} {words}" for words, count in counts.most_common())

    def _stands_out(self, line: ProfileVerdict) -> bool:
        home = self.lines[0] if self.lines[0].verdict else self.lines[1]
        return line.letter not in (None, home.letter) or line.profile == self.current


def order(home: str) -> list[str]:
    """Every profile: the home profile first, then ours, then the others."""
    return list(dict.fromkeys((home, "fencepost", *profiles())))


def names_to_run(home: str, current: str, length: int) -> list[str]:
    """The profiles that a response of `length` code points is read by: every one, of a long one those that matter."""
    return list(dict.fromkeys((home, "fencepost", current))) if length > EVERY_LENGTH else order(home)


def of_turn(detail: TurnDetail, current: str, *, light: bool = True) -> dict[str, Trace]:
    """Every profile's trace, of a long text only home's, ours and the current one's; none of a profile that is gone."""
    names = names_to_run(detail.session.first_profile, current, len(detail.turn.raw or ""))
    read, traces = debugger_queries.reader(db.session, detail, names, light=light), {}
    for name in names:
        with suppress(UnknownProfile):
            traces[name] = read(name)
    return traces


def column(raw: str, traces: Mapping[str, Trace], names: Iterable[str], current: str) -> VerdictColumn:
    """The lines in the order of `names`; those that `traces` does not hold were not run."""
    values = {name: _what_was_read(raw, trace) for name, trace in traces.items() if trace.version not in NO_TRACE}
    letters: dict[str | None, str | None] = {None: None}
    lines = []
    for name in names:
        value, trace = values.get(name), traces.get(name)
        letter = letters.setdefault(value, chr(ord("@") + len(letters)) if len(letters) <= 26 else "…")
        verdict = trace.verdict if trace and trace.version not in NO_TRACE else None
        is_unfit = trace is not None and trace.version == UNFIT
        same = value == values.get(current)
        lines.append(ProfileVerdict(name, verdict, letter, same, _why(name, trace), is_unfit))
    return VerdictColumn(lines, len(letters) - 1, current)


def _what_was_read(raw: str, trace: Trace) -> str | None:
    """A text that is the same for equal values; None where nothing was read, or prose was only put in quotes.

    Of a long response, whose values are not at hand, the decoded texts stand for the values.
    """
    if not trace.chosen or trace.is_quoted_prose:
        return None
    if len(raw) <= EVERY_LENGTH:
        return jsontext.canonical(trace.values)
    chosen = (trace.attempts[index] for index in trace.chosen)
    return "\0".join(apply(raw, attempt.span, attempt.edits).strip() for attempt in chosen)


def _why(name: str, trace: Trace | None) -> str | None:
    is_gone = name not in profiles()
    if trace is None:
        return f"no profile is called {name!r}" if is_gone else "not run on a text of this length; choose it to run it"
    if missing := words.no_trace_sentence(trace):
        return missing
    if is_gone:
        return f"no profile is called {name!r} any more; this is what it made when it was run"
    return "ended by its budget" if trace.exhausted else None
