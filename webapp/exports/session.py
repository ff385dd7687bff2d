"""A session as the session formats get it: facts, findings, and its turns one by one with their traces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from webapp.exports.labelled import Redaction, Said
from webapp.exports.redaction import Redactor, mask


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn. `home` and `fencepost` are traces as `Trace.as_dict` gives them, None where no model wrote.

    `sent_at` is ISO 8601 in UTC; `failed` means in production, `rescued` that `fencepost` reads it.
    """

    position: int
    kind: str
    who: str | None
    model: str | None
    group: str | None
    sent_at: str | None
    raw: str
    failed: bool
    rescued: bool
    recorded_failure: str | None
    home: dict[str, Any] | None
    fencepost: dict[str, Any] | None
    labels: tuple[Said, ...] = ()
    redactions: tuple[Redaction, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingView:
    """What a rule noticed, in words, and the positions of the turns that show it."""

    rule: str
    severity: str
    reason: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session; `turns` can be gone through once. `strip` has one letter a response: c e r n, f failed, s rescued."""

    id: str
    key: str
    revision: int
    title: str | None
    format: str
    home: str
    models: tuple[str, ...]
    started_at: str | None
    turn_count: int
    response_count: int
    failed_count: int
    rescued_count: int
    strip: str
    says: str
    findings: tuple[FindingView, ...]
    turns: Iterable[TurnView]


def redacted(session: SessionView, redactor: Redactor) -> SessionView:
    """The session with every text masked; spans and edits stay where they are."""
    return replace(
        session,
        id=redactor.text(session.id),
        title=None if session.title is None else redactor.text(session.title),
        says=redactor.text(session.says),
        findings=tuple(replace(found, reason=redactor.text(found.reason)) for found in session.findings),
        turns=(_turn(turn, redactor) for turn in session.turns),
    )


def _turn(turn: TurnView, redactor: Redactor) -> TurnView:
    spans = redactor.spans(turn.raw)
    raw = mask(turn.raw, spans)
    return replace(
        turn,
        raw=raw,
        recorded_failure=None if turn.recorded_failure is None else redactor.text(turn.recorded_failure),
        home=_trace(turn.home, raw, spans, redactor),
        fencepost=_trace(turn.fencepost, raw, spans, redactor),
        labels=tuple(redactor.said(said) for said in turn.labels),
        redactions=tuple(spans),
    )


def _trace(trace: dict[str, Any] | None, raw: str, spans: list[Redaction], redactor: Redactor) -> dict[str, Any] | None:
    if trace is None:
        return None
    attempts = [_attempt(attempt, raw, spans, redactor) for attempt in trace["attempts"]]
    return {**trace, "attempts": attempts, "values": [redactor.value(value) for value in trace["values"]]}


def _attempt(attempt: dict[str, Any], raw: str, spans: list[Redaction], redactor: Redactor) -> dict[str, Any]:
    words = {name: attempt[name] and redactor.text(attempt[name]) for name in ("reason", "note")}
    error = attempt["error"] and {name: _words(value, redactor) for name, value in attempt["error"].items()}
    edits = [_edit(edit, raw, spans) for edit in attempt["edits"]]
    return {**attempt, **words, "error": error, "edits": edits}


def _words(value: Any, redactor: Redactor) -> Any:
    return redactor.text(value) if isinstance(value, str) else value


def _edit(edit: dict[str, Any], raw: str, spans: list[Redaction]) -> dict[str, Any]:
    start, end = edit["span"]
    touched = any(span.start < end and start < span.end for span in spans)
    new = mask(edit["new"], [Redaction(0, len(edit["new"]), "edit")]) if touched else edit["new"]
    return {**edit, "old": raw[start:end], "new": new}
