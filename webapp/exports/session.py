"""A session as the session formats get it: facts, findings, turns with their traces; and as a dump, as it came."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from webapp import jsontext
from webapp.exports.base import LabelView, Redaction
from webapp.exports.redaction import Redactor, mask


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """One turn. `home` and `fencepost` are traces as `Trace.as_dict` gives them, None where no model wrote.

    `sent_at` is ISO 8601 in UTC; `failed` means in production.
    """

    position: int
    kind: str
    who: str | None
    model: str | None
    group: str | None
    sent_at: str | None
    raw: str
    failed: bool
    recorded_failure: str | None
    home: dict[str, Any] | None
    fencepost: dict[str, Any] | None
    labels: tuple[LabelView, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingView:
    """What a rule noticed, in words, and the positions of the turns that show it."""

    rule: str
    severity: str
    reason: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CauseView:
    """Why responses failed: a failure group's title, how many, the first positions, and the smallest reproduction.

    `how` says how the reproduction was reached or why there is none; "" where none was looked for.
    """

    title: str
    count: int
    positions: tuple[int, ...]
    reproduction: str | None
    how: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session; `turns` can be gone through once. `strip` has one letter a response: c e r n, f failed, s rescued,
    x not run."""

    id: str
    revision: int
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
    turns: Iterable[ExportedTurn]
    causes: tuple[CauseView, ...] = ()
    url: str | None = None


def redacted(session: SessionView, redactor: Redactor) -> SessionView:
    """The session with every text masked; spans and edits stay where they are."""
    return replace(
        session,
        id=redactor.text(session.id),
        says=redactor.text(session.says),
        findings=tuple(replace(finding, reason=redactor.text(finding.reason)) for finding in session.findings),
        turns=(_turn(turn, redactor) for turn in session.turns),
        causes=tuple(_cause(cause, redactor) for cause in session.causes),
        url=None if session.url is None else redactor.text(session.url),
    )


def _cause(cause: CauseView, redactor: Redactor) -> CauseView:
    """A reproduction is left out: a cut of a secret is no longer recognised as one."""
    how = "left out, since it may contain confidential data" if cause.reproduction is not None else cause.how
    return replace(cause, title=redactor.text(cause.title), reproduction=None, how=how)


def _turn(turn: ExportedTurn, redactor: Redactor) -> ExportedTurn:
    spans = redactor.spans(turn.raw)
    raw = mask(turn.raw, spans)
    return replace(
        turn,
        raw=raw,
        recorded_failure=None if turn.recorded_failure is None else redactor.text(turn.recorded_failure),
        home=_trace(turn.home, raw, spans, redactor),
        fencepost=_trace(turn.fencepost, raw, spans, redactor),
        labels=tuple(redactor.statement(statement) for statement in turn.labels),
    )


def _trace(trace: dict[str, Any] | None, raw: str, spans: list[Redaction], redactor: Redactor) -> dict[str, Any] | None:
    if trace is None:
        return None
    attempts = [_attempt(attempt, raw, spans, redactor) for attempt in trace["attempts"]]
    return {**trace, "attempts": attempts, "values": [redactor.value(value) for value in trace["values"]]}


def _attempt(attempt: dict[str, Any], raw: str, spans: list[Redaction], redactor: Redactor) -> dict[str, Any]:
    words = {name: attempt[name] and redactor.text(attempt[name]) for name in ("reason", "note")}
    error = attempt["error"] and {
        name: redactor.text(value) if isinstance(value, str) else value for name, value in attempt["error"].items()
    }
    edits = [_edit(edit, raw, spans) for edit in attempt["edits"]]
    return {**attempt, **words, "error": error, "edits": edits}


def _edit(edit: dict[str, Any], raw: str, spans: list[Redaction]) -> dict[str, Any]:
    start, end = edit["span"]
    after = bisect.bisect_right(spans, start, key=lambda span: span.end)  # none before it ends behind the edit's start
    touched = after < len(spans) and spans[after].start < end
    new = mask(edit["new"], [Redaction(0, len(edit["new"]), "edit")]) if touched else edit["new"]
    return {**edit, "old": raw[start:end], "new": new}


LARGEST_LAST = 32 * 1024
"""A `fencepost` member of more bytes stands before the entries, so that a reader of head and tail finds it."""


def document(
    session_id: str, dumped_at: datetime | str, entry_count: int, entries: Iterable[Any], fencepost: dict[str, Any]
) -> Iterator[bytes]:
    """The dump in pieces, ASCII JSON with one entry a line: NaN (marked), lone surrogates and any integer survive.

    `fencepost` is what `webapp.dumps` needs to read it the same way again: version, format, home, service …
    """
    moment = dumped_at if isinstance(dumped_at, str) else dumped_at.isoformat()
    about = jsontext.portable(fencepost | {"floats": "marked"})
    member = f'"fencepost":{about}'
    early = len(member) > LARGEST_LAST
    head = (
        f'{{"session_id":{jsontext.dumps(session_id)},"dumped_at":{jsontext.dumps(moment)},'
        f'"entry_count":{entry_count},{member + "," if early else ""}"entries":['
    )
    yield head.encode("ascii")
    for index, entry in enumerate(entries):
        yield f"{',' if index else ''}\n{jsontext.portable(entry)}".encode("ascii")
    yield ("\n]}\n" if early else f"\n],{member}}}\n").encode("ascii")
