"""Labelled responses as the export formats get them: one response with its labels and what was settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

REDACTED = "█"
"""What stands for one redacted code point."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one person said of a response. Times are ISO 8601 in UTC; `seconds` is how long they looked at it.

    `expects` is one, several, none (no JSON is meant) or unknown (cut off), None where nothing was said of it;
    `expected` the value for one, the list of values for several.
    """

    author: str
    judgement: str
    cause: str | None
    expects: str | None
    expected: Any
    note: str | None
    made_at: str
    seconds: float | None = None
    history: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Redaction:
    """A stretch `[start, end)` of `raw`, in code points, whose characters were replaced one by one."""

    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A response with its labels. `final` is what holds: settled, agreed or said by one alone; None in disagreement.
    `settled` says how a disagreement was settled: author, judgement, cause, expects, expected, why, made_at, history.

    `verdict` and `truncated` are what `fencepost` says of it; `position` counts the session's turns from 0.
    """

    session: str
    key: str
    revision: int
    position: int
    raw: str
    raw_sha256: str
    model: str | None
    agent: str | None
    phase: str | None
    format: str
    home: str
    verdict: str | None
    truncated: bool
    labels: tuple[Said, ...]
    final: Said | None
    settled: dict[str, Any] | None = None
    redactions: tuple[Redaction, ...] = field(default=())

    @property
    def name(self) -> str:
        """What a test or a file calls it: unlike any other's in the same store."""
        return f"{self.key}-{self.position}"


class Meaning(Protocol):
    """What somebody says that a response means: see `Said`."""

    @property
    def expects(self) -> str | None: ...

    @property
    def expected(self) -> Any: ...


def expected_values(said: Meaning | None) -> list[Any] | None:
    """The values that should come out, in order; [] where no JSON is meant; None where it is not known."""
    if said is None or said.expects in (None, "unknown"):
        return None
    if said.expects == "none":
        return []
    return list(said.expected) if said.expects == "several" else [said.expected]


def meant(responses: Iterable[Labelled]) -> Iterator[tuple[Labelled, Said, list[Any]]]:
    """The responses of which it is known what they mean, each with who says so and the values."""
    for response in responses:
        values = expected_values(response.final)
        if values is not None and response.final is not None:
            yield response, response.final, values


def origin(response: Labelled, said: Said) -> dict[str, Any]:
    """Where an example comes from and who says so."""
    return {
        "session": response.session,
        "position": response.position,
        "model": response.model,
        "cause": said.cause,
        "author": said.author,
        "made_at": said.made_at,
        "note": said.note,
        "history": list(said.history),
    }


def settlement(settled: dict[str, Any]) -> str:
    """Who settled a disagreement and why, in words."""
    return f"settled by {settled['author']}, {settled['made_at']}: {settled['why'] or 'no reason given'}"


def past(said: Said) -> list[str]:
    """What happened to a label, one line an event, the oldest first."""
    told = []
    for event in said.history:
        what = (event.get("said") or {}).get("judgement") or ""
        told.append(
            f"{event.get('happened_at', '')} {event.get('author', '')} {event.get('action', '')} {what}".strip()
        )
    return told


def rows(response: Labelled) -> Iterator[dict[str, Any]]:
    """One flat row a label, in the form that `fencepost label import` takes back."""
    for said in response.labels:
        yield {
            "session": response.session,
            "key": response.key,
            "revision": response.revision,
            "position": response.position,
            "raw_sha256": response.raw_sha256,
            "author": said.author,
            "judgement": said.judgement,
            "cause": said.cause,
            "expects": said.expects,
            "expected": said.expected,
            "note": said.note,
            "seconds": said.seconds,
            "made_at": said.made_at,
            "history": list(said.history),
            "final": response.final is not None and response.final == said,
            "settled": response.settled,
            "model": response.model,
            "agent": response.agent,
            "phase": response.phase,
            "format": response.format,
            "home": response.home,
            "verdict": response.verdict,
            "raw": response.raw,
            "redacted": [[mark.start, mark.end, mark.rule] for mark in response.redactions],
        }
