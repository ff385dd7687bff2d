"""Exports out of the store: labelled responses and whole sessions, as the formats of `webapp.exports` want them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import __version__, findings
from webapp.exports import base
from webapp.exports.labelled import Labelled, Said
from webapp.exports.redaction import Redactor
from webapp.exports.session import FindingView, SessionView, TurnView, redacted
from webapp.store import noticing, turns
from webapp.store import sessions as session_store
from webapp.store.filtering import Filters
from webapp.store.index import bits
from webapp.store.labelling import history, queue, settling
from webapp.store.labelling.history import Event
from webapp.store.models import Finding, Label, LabelQueueItem, Parse, Session, Turn
from webapp.store.parsed import OURS
from webapp.store.tally import READABLE

_AT_ONCE = 100
MOST_IN_QUERY = 5000
"""numbers that one query names; of more sessions every label is looked at"""


def about(scope: str, redactor: Redactor | None) -> base.About:
    """What an export of `scope`, made now, says of itself."""
    return base.About(datetime.now(UTC), scope, __version__, redactor.words if redactor else None)


def labels(
    db: orm.Session,
    name: str,
    *,
    scope: str,
    redactor: Redactor | None = None,
    sessions: Collection[int] | None = None,
    turn_ids: Sequence[int] | None = None,
) -> Iterator[bytes]:
    """Labelled responses in the format `name`: all, those of some sessions, or those turns. Raises `UnknownExport`
    at once and `MissingLibrary` with the first piece."""
    format_: Any = base.find(name, "labels")
    given = _of_turns(db, turn_ids) if turn_ids is not None else _of_sessions(db, sessions)
    responses = _labelled(db, given)
    if redactor is not None:
        responses = (redactor.response(response) for response in responses)
    return format_.pieces(responses, about(scope, redactor))  # type: ignore[no-any-return]


def session(db: orm.Session, name: str, found: Session, *, redactor: Redactor | None = None) -> Iterator[bytes]:
    """One session in the format `name`. Raises `UnknownExport`."""
    format_: Any = base.find(name, "sessions")
    view = view_of(db, found)
    told = about(f"session {found.external_id}", redactor)
    return format_.pieces(redacted(view, redactor) if redactor else view, told)  # type: ignore[no-any-return]


def view_of(db: orm.Session, found: Session) -> SessionView:
    """The session as the session formats get it; its turns are read a hundred at a time."""
    columns = ("key", "revision", "title", "started_at")
    counts = ("turn_count", "response_count", "failed_count", "rescued_count", "strip")
    values = {name: getattr(found, name) for name in (*columns, *counts)}
    noticed = noticing.of(db, found.id)
    return SessionView(
        id=found.external_id,
        format=found.source_format,
        home=found.home_profile,
        models=tuple(found.models),
        says=findings.sentence(noticed) or _says(found),
        findings=tuple(_finding(finding) for finding in noticed),
        turns=_turns(db, found),
        **values | {"started_at": found.started_at and found.started_at.isoformat()},
    )


def of_filters(db: orm.Session, filters: Filters) -> set[int]:
    """The ids of the sessions under the list's filters that hold a label."""
    found = session_store.narrowed(db, filters if filters.label else replace(filters, label="labelled"))
    numbers = found.state.numbers["id"].values
    return {numbers[slot] for slot in bits.slots_of(found.view)}


def of_queue(db: orm.Session, spec: queue.Spec) -> list[int]:
    """The turns of a queue that have a label."""
    stored = queue.complete(db, spec)
    items = sa.select(LabelQueueItem.turn_id).where(LabelQueueItem.queue_id == stored.id)
    return list(db.scalars(sa.select(Label.turn_id).distinct().where(Label.turn_id.in_(items))))


def _of_sessions(db: orm.Session, sessions: Collection[int] | None) -> Iterator[settling.Labelled]:
    if sessions is None:
        return settling.every(db, with_history=True)
    if len(sessions) <= MOST_IN_QUERY:
        return settling.every(db, with_history=True, sessions=list(sessions))
    return (one for one in settling.every(db, with_history=True) if one.session.id in sessions)


def _of_turns(db: orm.Session, turn_ids: Sequence[int]) -> Iterator[settling.Labelled]:
    ids = iter(sorted(turn_ids))
    while batch := list(islice(ids, _AT_ONCE)):
        yield from (one for one in settling.of_turns(db, batch, with_history=True) if one.labels)


def _labelled(db: orm.Session, given: Iterable[settling.Labelled]) -> Iterator[Labelled]:
    iterator = iter(given)
    while batch := list(islice(iterator, _AT_ONCE)):
        ids = [one.turn.id for one in batch]
        query = sa.select(Parse.turn_id, Parse.verdict, Parse.truncated)
        parses = {row.turn_id: row for row in db.execute(query.where(Parse.turn_id.in_(ids), Parse.profile == OURS))}
        for one in batch:
            yield _response(one, parses.get(one.turn.id))
        db.expunge_all()


def _response(one: settling.Labelled, parse: Any) -> Labelled:
    turn, home = one.turn, one.session
    said = {label.id: _said(label, one.history) for label in one.labels}
    return Labelled(
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
        labels=tuple(said.values()),
        final=_final(one, said),
        settled=one.settlement(),
    )


def _final(one: settling.Labelled, said: dict[int, Said]) -> Said | None:
    """What holds, with who said it; one of the labels themselves where one was alone."""
    if one.final is None:
        return None
    if one.final.how == "alone":
        return said[one.labels[-1].id]
    given = one.final.said
    return Said(
        author=", ".join(one.final.authors),
        judgement=given.judgement,
        cause=given.cause,
        expects=given.expects,
        expected=given.expected,
        note=given.note,
        made_at=one.final.made_at.isoformat(),
        history=tuple(event.as_dict() for event in reversed(one.history)),
    )


def _said(label: Label, events: Iterable[Event]) -> Said:
    own = [event for event in events if event.author == label.author and event.action not in history.SETTLING]
    return Said(
        label.author,
        label.judgement,
        label.cause,
        label.expects,
        label.expected,
        label.note,
        label.made_at.isoformat(),
        label.seconds,
        tuple(event.as_dict() for event in reversed(own)),
    )


def _finding(found: Finding) -> FindingView:
    return FindingView(found.rule.replace("_", " "), found.severity, findings.reason(found), tuple(found.turns))


def _says(found: Session) -> str:
    if not found.failed_count:
        return "No response failed in production."
    told = (
        f"{found.failed_count} of {found.response_count} responses failed in production, under `{found.home_profile}`"
    )
    return f"{told}; `fencepost` reads {found.rescued_count} of them."


def _turns(db: orm.Session, found: Session) -> Iterator[TurnView]:
    after = -1
    query = sa.select(Turn).where(Turn.session_id == found.id, Turn.duplicate_of.is_(None)).order_by(Turn.position)
    while batch := list(db.scalars(query.where(Turn.position > after).limit(_AT_ONCE))):
        after = batch[-1].position
        ids = [turn.id for turn in batch]
        wanted = sa.select(Parse).where(Parse.turn_id.in_(ids), Parse.profile.in_((found.home_profile, OURS)))
        parses = {(parse.turn_id, parse.profile): parse for parse in db.scalars(wanted)}
        given = {one.turn.id: one for one in settling.of_turns(db, ids, with_history=True) if one.labels}
        for turn in batch:
            pair = parses.get((turn.id, found.home_profile)), parses.get((turn.id, OURS))
            yield _turn(turn, *pair, given.get(turn.id))


def _turn(turn: Turn, home: Parse | None, ours: Parse | None, labelled: settling.Labelled | None) -> TurnView:
    failed = turns.is_failed(turn.kind, home.verdict if home else None, turn.recorded_failure is not None)
    numbers = (("sounding", turn.sounding), ("round", turn.round), ("attempt", turn.attempt))
    group = [turn.phase, *(f"{name} {number}" for name, number in numbers if number is not None)]
    return TurnView(
        position=turn.position,
        kind=turn.kind.replace("_", " "),
        who=turn.agent or turn.role,
        model=turn.model,
        group=" ".join(filter(None, group)) or None,
        sent_at=turn.sent_at.isoformat() if turn.sent_at else None,
        raw=turn.raw or "",
        failed=failed,
        rescued=failed and ours is not None and ours.verdict in READABLE,
        recorded_failure=turn.recorded_failure,
        home=home.trace if home else None,
        fencepost=ours.trace if ours else None,
        labels=tuple(_said(label, labelled.history) for label in labelled.labels) if labelled else (),
    )
