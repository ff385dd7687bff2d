"""Exports out of the store: labelled responses and whole sessions, as the formats of `webapp.exports` want them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import __version__
from webapp.exports import base
from webapp.exports.base import LabelledResponse, LabelView, expected_values, left_out_sentence, why_unknown
from webapp.exports.base import rows as flat_rows
from webapp.exports.redaction import Redactor
from webapp.exports.session import ExportedTurn, FindingView, SessionView, redacted
from webapp.findings import rulebook
from webapp.parsing import words
from webapp.parsing.trace import fitting
from webapp.store.db.ids import batched
from webapp.store.exports import session_dump
from webapp.store.labels import label_content, settling
from webapp.store.models import Label, Parse, Session, Turn, TurnContract
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions import turns
from webapp.store.sessions.filters import Filters
from webapp.store.write import stored_turns
from webapp.store.write.parser import OURS

_AT_ONCE = 100
_IMPORTED = (
    *("session", "key", "revision", "position", "raw_sha256", "author", "judgement", "cause", "expects", "expected"),
    *("note", "seconds", "made_at", "history", "settled"),
)
MOST_COUNTED = 2000
"""labelled responses that are looked at before an export, to say how many of them have no known value"""


@dataclass(frozen=True, slots=True)
class UnknownValues:
    """How many of the first `looked_at` labelled responses have no known value, by reason; with `more`, not of all."""

    reasons: Counter[str]
    looked_at: int
    more: bool

    def sentence(self) -> str:
        return left_out_sentence(self.reasons)


def about(scope: str, redactor: Redactor | None) -> base.ExportFacts:
    """What an export of `scope`, made now, says of itself."""
    return base.ExportFacts(datetime.now(UTC), scope, __version__, redactor.words if redactor else None)


def labels(
    db: orm.Session,
    name: str,
    *,
    scope: str,
    redactor: Redactor | None = None,
    sessions: Set[int] | None = None,
    turn_ids: Sequence[int] | None = None,
    left_out: Counter[str] | None = None,
) -> Iterator[bytes]:
    """Labelled responses in the format `name`: all, those of some sessions, or those turns. Raises `UnknownExport`
    at once and `MissingLibrary` with the first piece. `left_out` counts those that the format leaves out, by reason."""
    format_ = base.find(name, "labels")
    responses = _responses(db, settling.every(db, with_history=True, sessions=sessions, turn_ids=turn_ids))
    if redactor is not None:
        responses = map(redactor.response, responses)
    facts = about(scope, redactor)
    return format_.pieces(responses, facts if left_out is None else replace(facts, left_out=left_out))


def chosen(db: orm.Session, idents: Sequence[str], filters: Filters | None) -> tuple[str, dict[str, Any]]:
    """The labels of sessions, else under filters, else all: in words, and as `labels` takes them.

    Raises `NoSuchSession`.
    """
    if idents:
        ids = {session_store.find(db, ident).id for ident in idents}
        return f"labels of {words.counted(len(ids), 'chosen session')}", {"sessions": ids}
    if filters is not None and (active := filters.active()):
        narrowed = ", ".join(f"{name} {value}" for name, value in active.items())
        return f"labels of sessions with {narrowed}", {"sessions": of_filters(db, filters)}
    return "all labels", {}


def unknown_values(
    db: orm.Session, *, sessions: Set[int] | None = None, turn_ids: Sequence[int] | None = None
) -> UnknownValues:
    """What an export of these has to leave out in formats of known values alone, as far as a page looks."""
    reasons: Counter[str] = Counter()
    looked_at = 0
    for response in settling.every(db, sessions=sessions, turn_ids=turn_ids):
        if looked_at == MOST_COUNTED:
            return UnknownValues(reasons, looked_at, True)
        looked_at += 1
        content = response.final.content if response.final else None
        if expected_values(content) is None:
            reasons[why_unknown(content)] += 1
    return UnknownValues(reasons, looked_at, False)


def label_rows(db: orm.Session) -> Iterator[dict[str, Any]]:
    """One row a label, in the order of turns: what `importing.take` takes back. docs/labels.md describes it."""
    for response in _responses(db, settling.every(db, with_history=True)):
        for row in flat_rows(response):
            yield {name: row[name] for name in _IMPORTED} | {"preview": row["raw"][: turns.PREVIEW]}


def session(
    db: orm.Session, name: str, stored_session: Session, *, redactor: Redactor | None = None, url: str | None = None
) -> Iterator[bytes]:
    """One session in the format `name`, with the `url` of its page where it has one. Raises `UnknownExport`."""
    format_ = base.find(name, "sessions")
    view = replace(view_of(db, stored_session), url=url)
    if name == "report":
        view = replace(view, causes=session_dump.causes_of(db, stored_session))
    facts = about(f"session {stored_session.external_id}", redactor)
    return format_.pieces(redacted(view, redactor) if redactor else view, facts)


def view_of(db: orm.Session, stored_session: Session) -> SessionView:
    """The session as the session formats get it; its turns are read a hundred at a time."""
    noticed = stored_turns.findings_of(db, stored_session.id)
    counted = ("response_count", "failed_count", "rescued_count", "not_run_count")
    figures = [getattr(stored_session, name) for name in counted]
    names = ("revision", "turn_count", "response_count", "failed_count", "rescued_count", "strip")
    return SessionView(
        id=stored_session.external_id,
        format=stored_session.source_format,
        home=stored_session.home_profile,
        models=tuple(stored_session.models),
        says=rulebook.sentence(noticed)
        or words.session_sentence(figures, stored_session.home_profile, shape=stored_session.shape),
        findings=tuple(
            FindingView(one.rule.replace("_", " "), one.severity, rulebook.reason(one), tuple(one.turns))
            for one in noticed
        ),
        turns=_turns(db, stored_session),
        started_at=stored_session.started_at.isoformat() if stored_session.started_at else None,
        **{name: getattr(stored_session, name) for name in names},
    )


def of_filters(db: orm.Session, filters: Filters) -> set[int]:
    """The ids of the sessions under the list's filters that hold a label."""
    view = session_store.view(db, filters if filters.label else replace(filters, label="labelled"))
    return set(db.scalars(view.ids()))


def of_turns(db: orm.Session, turn_ids: Sequence[int]) -> Iterator[LabelledResponse]:
    """These responses as formats get them, in the order of turns, those without a label too."""
    in_order = batched(sorted(turn_ids), _AT_ONCE)
    return _responses(db, (one for some in in_order for one in settling.of_turns(db, some, with_history=True)))


def _responses(db: orm.Session, responses: Iterable[settling.Labelled]) -> Iterator[LabelledResponse]:
    for batch in batched(responses, _AT_ONCE):
        ids = [response.turn.id for response in batch]
        query = sa.select(Parse.turn_id, Parse.verdict, Parse.truncated)
        parses = {row.turn_id: row for row in db.execute(query.where(Parse.turn_id.in_(ids), Parse.profile == OURS))}
        states = _states(db, ids)
        for response in batch:
            yield _response(response, parses.get(response.turn.id), states.get(response.turn.id))
        db.expunge_all()


def _states(db: orm.Session, turn_ids: Sequence[int]) -> dict[int, str]:
    """The states of these turns under their contracts, of those of which there is something to say."""
    query = sa.select(TurnContract.turn_id, TurnContract.state).where(TurnContract.turn_id.in_(turn_ids))
    return {row.turn_id: row.state for row in db.execute(query)}


def _response(response: settling.Labelled, parse: Any, state: str | None) -> LabelledResponse:
    turn, home = response.turn, response.session
    views = {label.id: _label_view(response, label) for label in response.labels}
    return LabelledResponse(
        session=home.external_id,
        key=home.key,
        revision=home.revision,
        position=turn.position,
        raw=turn.raw or "",
        raw_sha256=(turn.raw_sha256 or b"").hex(),
        model=turn.model,
        agent=turn.agent,
        phase=turn.phase,
        format=home.source_format,
        home=home.home_profile,
        verdict=parse.verdict if parse else None,
        truncated=bool(parse and parse.truncated),
        labels=tuple(views.values()),
        final=_final(response, views),
        settled=response.settlement(),
        contract=state,
        host=turn.host,
    )


def _final(response: settling.Labelled, views: dict[int, LabelView]) -> LabelView | None:
    """What holds, with who said it; one of the labels themselves where one was alone."""
    if response.final is None:
        return None
    if response.final.how == "alone":
        return views[response.labels[-1].id]
    fields = ("judgement", "cause", "expects", "expected", "note")
    return LabelView(
        author=", ".join(response.final.authors),
        **{name: getattr(response.final.content, name) for name in fields},
        made_at=response.final.made_at.isoformat(),
        history=tuple(event.as_dict() for event in reversed(response.history)),
    )


def _label_view(response: settling.Labelled, label: Label) -> LabelView:
    content = {name: value for name, value in label_content.content_of(label).items() if name != "source"}
    past = tuple(response.history_of(label))
    return LabelView(label.author, **content, history=past)


def _turns(db: orm.Session, stored_session: Session) -> Iterator[ExportedTurn]:
    after, home = -1, stored_session.home_profile
    query = sa.select(Turn).where(Turn.session_id == stored_session.id, Turn.duplicate_of.is_(None))
    query = query.order_by(Turn.position).limit(_AT_ONCE)
    while batch := db.scalars(query.where(Turn.position > after)).all():
        after = batch[-1].position
        ids = [turn.id for turn in batch]
        both = sa.select(Parse).where(Parse.turn_id.in_(ids), Parse.profile.in_((home, OURS)))
        parses = {(parse.turn_id, parse.profile): parse for parse in db.scalars(both)}
        responses = {response.turn.id: response for response in settling.of_turns(db, ids, with_history=True)}
        states = _states(db, ids)
        for turn in batch:
            own, ours = (parses.get((turn.id, profile)) for profile in (home, OURS))
            yield _turn(turn, states.get(turn.id), own, ours, responses.get(turn.id))


def _turn(
    turn: Turn, state: str | None, home: Parse | None, ours: Parse | None, labelled: settling.Labelled | None
) -> ExportedTurn:
    failed, _ = turns.outcome(turn, home.verdict if home else None, None, state)
    numbers = (("sounding", turn.sounding), ("round", turn.round), ("attempt", turn.attempt))
    group = [turn.phase, *(f"{name} {number}" for name, number in numbers if number is not None)]
    return ExportedTurn(
        position=turn.position,
        kind=turn.kind.replace("_", " "),
        who=turn.agent or turn.role,
        model=turn.model,
        group=" ".join(filter(None, group)) or None,
        sent_at=turn.sent_at.isoformat() if turn.sent_at else None,
        raw=turn.raw or "",
        failed=failed,
        recorded_failure=turn.recorded_failure,
        home=_trace(turn, home),
        fencepost=_trace(turn, ours),
        labels=tuple(_label_view(labelled, label) for label in labelled.labels) if labelled else (),
    )


def _trace(turn: Turn, parse: Parse | None) -> dict[str, Any] | None:
    return None if parse is None else dict(fitting(turn.raw or "", parse.trace))
