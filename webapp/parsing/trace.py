"""The trace: every attempt of one parse, in order, and which of them were chosen; read back beside its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from webapp.parsing.edit import Edit, Span

Outcome = Literal["accepted", "rejected", "failed"]
Verdict = Literal["clean", "extracted", "repaired", "failed", "none"]
ABSENT = "absent"
"""the version of a trace that only says that the parser cannot run"""
UNFIT = "unfit"
"""the version of a trace that only says that the stored one does not fit its text: where rows were changed or copied by
something else, its places may lie outside the text, or its edits remove what is not there"""


@dataclass(slots=True)
class Fault:
    """Where and why an attempt failed.

    `message` and `said` are the decoder's words (`said` with its own line and column, which count in the
    decoded text); `at`, `line` and `column` are the place in the *raw* text, so that a page can point at it.
    """

    type: str
    message: str
    at: int
    line: int
    column: int
    said: str

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Fault:
        return cls(*(data[name] for name in cls.__slots__))


@dataclass(frozen=True, slots=True)
class Site:
    """The line of a recorded parser that called a decoder; `source` is empty where its file is not there."""

    file: str
    line: int
    function: str = ""
    source: str = ""
    through: str = ""
    """the line of a library that stands between that line and the decoder"""

    @property
    def place(self) -> str:
        """As tracebacks are spoken of: `parsers.py:41`."""
        return f"{self.file.replace(chr(92), '/').rpartition('/')[2]}:{self.line}"

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Site:
        return cls(data["file"], data["line"], data["function"], data["source"], data.get("through", ""))


@dataclass(frozen=True, slots=True)
class Flag:
    """What a trace is not sure of, and the place in the raw text that makes it so; `words.FLAGS` says it in words."""

    kind: str
    span: Span

    def as_dict(self) -> dict[str, Any]:
        return {"flag": self.kind, "span": list(self.span)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Flag:
        return cls(data["flag"], Span(*data["span"]))


@dataclass(slots=True)
class Attempt:
    """Decoding one candidate, with the edits tried. `value` is what was decoded, where it was accepted.

    Of a recorded parser, `site` is the line that called the decoder. `is_json`: its span, without an edit, is known to
    be JSON as RFC 8259 has it. Neither it nor a trace is frozen, which takes thrice as long to make; they never change.
    """

    strategy: str
    span: Span
    outcome: Outcome
    reason: str | None = None
    edits: tuple[Edit, ...] = ()
    score: float | None = None
    error: Fault | None = None
    note: str | None = None
    value: Any = field(default=None, compare=False)
    site: Site | None = None
    is_json: bool = field(default=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.outcome == "accepted"

    def as_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "strategy": self.strategy,
            "span": list(self.span),
            "outcome": self.outcome,
            "reason": self.reason,
            "edits": [edit.as_dict() for edit in self.edits],
            "score": self.score,
            "error": self.error.as_dict() if self.error else None,
            "note": self.note,
        }
        if self.site:
            data["site"] = self.site.as_dict()
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Attempt:
        return cls(
            data["strategy"],
            Span(*data["span"]),
            data["outcome"],
            data["reason"],
            tuple(Edit.from_dict(edit) for edit in data["edits"]),
            data["score"],
            Fault.from_dict(data["error"]) if data["error"] else None,
            data["note"],
            site=Site.from_dict(data["site"]) if data.get("site") else None,
        )


@dataclass(slots=True)
class Trace:
    """All attempts of one parse. `chosen` indexes `attempts`; `values` are theirs, in the same order."""

    profile: str
    version: str
    verdict: Verdict
    attempts: tuple[Attempt, ...]
    chosen: tuple[int, ...]
    values: tuple[Any, ...]
    truncated: bool = False
    ambiguous: bool = False
    exhausted: bool = False
    policy: Mapping[str, str] = field(default_factory=dict)
    microseconds: int = 0
    flags: tuple[Flag, ...] = ()

    @property
    def is_quoted_prose(self) -> bool:
        """Whether its values are repaired strings alone, as `jsonrepair` makes of prose that nobody meant as JSON."""
        return self.verdict == "repaired" and all(isinstance(value, str) for value in self.values)

    def as_dict(self) -> dict[str, Any]:
        """The shape that `fencepost parse --json` prints, the API returns and the database stores."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "flags": [flag.as_dict() for flag in self.flags],
            "policy": dict(self.policy),
            "chosen": list(self.chosen),
            "values": list(self.values),
            "attempts": [attempt.as_dict() for attempt in self.attempts],
            "microseconds": self.microseconds,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trace:
        """The trace that `as_dict` wrote; attempts get their values back where they were chosen."""
        return cls(
            attempts=tuple(Attempt.from_dict(attempt) for attempt in data["attempts"]),
            chosen=tuple(data["chosen"]),
            values=tuple(data["values"]),
            policy=data.get("policy", {}),
            microseconds=data["microseconds"],
            flags=tuple(Flag.from_dict(flag) for flag in data.get("flags", ())),
            **{name: data[name] for name in _PLAIN},
        )


_PLAIN = ("profile", "version", "verdict", "truncated", "ambiguous", "exhausted")
"""The fields of a trace that its dictionary holds as they are."""


def read_stored(raw: str, data: Mapping[str, Any]) -> Trace:
    """The stored trace of `raw`, else one without attempts that says why it does not fit."""
    return Trace.from_dict(fitting(raw, data))


def fitting(raw: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same as a document: `data` itself where it fits `raw`."""
    why = misfit(raw, data)
    if why is None:
        return data
    empty = Trace(str(data.get("profile") or ""), UNFIT, "failed", (), (), (), policy={UNFIT: why})
    return empty.as_dict()


def misfit(raw: str, data: Mapping[str, Any]) -> str | None:
    """Why a stored trace cannot be one of this text; None where all its places and removed texts are in it."""
    try:
        if data["version"] == UNFIT:
            return str(data["policy"][UNFIT])
        for number, attempt in enumerate(data["attempts"], 1):
            if why := _of_attempt(raw, attempt):
                return f"attempt {number}: {why}"
        if any(not 0 <= index < len(data["attempts"]) for index in data["chosen"]):
            return "it chose an attempt that it has not"
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return f"it is no trace: {type(error).__name__}"
    return None


def _of_attempt(raw: str, attempt: Mapping[str, Any]) -> str | None:
    start, end = attempt["span"]
    if not 0 <= start <= end <= len(raw):
        return f"its span {start}–{end} is outside of the text, which has {len(raw):,} characters"
    at = start
    for edit in attempt["edits"]:
        first, last = edit["span"]
        if not at <= first <= last <= end:
            return f"the edit at {first}–{last} is outside of its span, or before the one that precedes it"
        if raw[first:last] != edit["old"]:
            return f"the edit at {first}–{last} removes a text that is not there"
        at = last
    if attempt["error"] and not 0 <= attempt["error"]["at"] <= len(raw):
        return "its error is outside of the text"
    return None


def unfit_sentence(trace: Trace) -> str | None:
    """What is wrong with a stored trace that was not drawn and how to mend it; None for every other trace."""
    if trace.version != UNFIT:
        return None
    return (
        f"has a stored parse that does not fit this text ({trace.policy.get(UNFIT, '')}), so that it is not drawn:"
        f" `fencepost replay --profile {trace.profile} --again` parses it again"
    )
