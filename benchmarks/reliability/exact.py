"""What must hold after a kill: what was acknowledged is there, nothing is doubled, and all counts are a recount.

Each check gives sentences, one for each thing that is wrong.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from benchmarks.reliability.ledger import Ledger
from benchmarks.reliability.world import World
from tests.store.failures.recount import recount
from webapp.store import derive
from webapp.store.db import database
from webapp.store.ingest import dump_files
from webapp.store.models import (
    Dump,
    DumpSession,
    Finding,
    Label,
    LabelEvent,
    Parse,
    Session,
    Task,
    Turn,
    is_response,
)
from webapp.store.sessions import session_list
from webapp.store.sessions.filters import Filters

_SEARCHED = 12
_UNTOUCHED = ("changed", "tried", "tried_key")
"""columns of a session that no recount makes"""


def stored_texts(world: World) -> dict[str, list[list[str | None]]]:
    """By session's own id the texts of each of its revisions that are shown."""
    query = sa.select(Session.external_id, Session.id, Turn.raw).join(Turn, Turn.session_id == Session.id)
    found: dict[str, dict[int, list[str | None]]] = defaultdict(lambda: defaultdict(list))
    with world.engine.connect() as connection:
        shown = query.where(Session.deleted_at.is_(None)).order_by(Turn.session_id, Turn.ordinal)
        for name, number, raw in connection.execute(shown):
            found[name][number].append(raw)
    return {name: list(revisions.values()) for name, revisions in found.items()}


def acknowledged(world: World, ledger: Ledger) -> Iterator[str]:
    """What was acknowledged is there once, and what was not is there whole or not at all."""
    stored = stored_texts(world)
    for name in {*stored, *ledger.sessions} - ledger.old:
        revisions = stored.get(name, [])
        if len(revisions) > 1:
            yield f"session {name} is stored {len(revisions)} times"
        elif (revisions[0] if revisions else None) not in ledger.may_hold(name):
            had = len(revisions[0]) if revisions else 0
            yield f"session {name} has {had} texts, not {[len(texts or ()) for texts in ledger.may_hold(name)]}"
    for name in set(stored) & set(ledger.gone):
        yield f"session {name} is back, though it was pruned"


def homes(world: World, ledger: Ledger) -> Iterator[str]:
    """Each session has the parser that it was given last, and what is made of it is a recount (see `recounted`)."""
    query = sa.select(Session.external_id, Session.home_profile).where(Session.deleted_at.is_(None))
    with world.engine.connect() as connection:
        stored = dict(connection.execute(query).tuples().all())
    for name in (set(ledger.homes) | set(ledger.open_homes)) & set(stored):
        allowed = [ledger.homes.get(name, stored[name]), *ledger.open_homes.get(name, ())]
        if stored[name] not in allowed:
            yield f"session {name} has the parser {stored[name]}, not one of {allowed}"
        ledger.homes[name] = stored[name]
    ledger.open_homes.clear()


def exported(world: World, ledger: Ledger) -> Iterator[str]:
    """Each export that was acknowledged has ended with a whole zip, in which each session has its texts."""
    for number in ledger.exports:
        state = world.ask("GET", f"/api/exports/{number}")[1]["export"]["state"]
        _, _, content = world.fetch("GET", f"/api/exports/{number}/file") if state == "done" else (0, "", b"")
        if state != "done":
            yield f"export {number} is {state}"
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            dumps = [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json")]
        held = {dump["session_id"]: [entry["content"] for entry in dump["entries"]] for dump in dumps}
        for name in {*held, *ledger.sessions} - ledger.old:
            if held.get(name) not in ledger.may_hold(name):
                yield f"export {number} has {len(held.get(name) or ())} texts of session {name}"
    ledger.exports.clear()


def labels(world: World, ledger: Ledger) -> Iterator[str]:
    """Each label as it was given last, each time once in the history, counted at its session."""
    held, events = stored_labels(world), Counter(_events(world))
    for place in {*held, *ledger.labels}:
        allowed = [ledger.labels.get(place), *ledger.open_labels.get(place, ())]
        if held.get(place) not in allowed:
            yield f"label {place} is {held.get(place)}, not one of {allowed}"
        least, most = ledger.acknowledged_labels.get(place, 0), ledger.sent_labels.get(place, 0)
        if not least <= events[place] <= most:
            yield f"label {place} has {events[place]} events; {least} were acknowledged, {most} sent"
    yield from _label_counts(world)


def prune_ended(world: World, ledger: Ledger) -> Iterator[str]:
    """Behind a prune that was acknowledged: old sessions without labels are gone, those with labels are there."""
    with world.engine.connect() as connection:
        left = dict(connection.execute(sa.select(Session.external_id, Session.id)).all())
    held = {place[0] for place in stored_labels(world)}
    labelled = {place[0] for place in ledger.labels}
    for name in sorted(ledger.old):
        if name in labelled and name not in left:
            yield f"session {name} was pruned with its acknowledged label"
        if name in left and name not in held:
            yield f"session {name} is old and has no label, and is still stored"
        if name not in left:
            ledger.removed(name)
    ledger.old = set()


def whole(world: World) -> Iterator[str]:
    """No half of anything: parses without a turn, turns without a session, chunks, sessions that are not derived."""
    response = sa.select(Turn.id).where(is_response)
    ours, home = orm.aliased(Parse), orm.aliased(Parse)
    lacking = response.join(Session, Session.id == Turn.session_id).where(
        Session.deleted_at.is_(None),
        sa.or_(
            ~sa.exists().where(ours.turn_id == Turn.id, ours.profile == "fencepost"),
            ~sa.exists().where(home.turn_id == Turn.id, home.profile == Session.home_profile),
        ),
    )
    queries = {
        "responses without a parse": lacking,
        "turns without a session": sa.select(Turn.id).where(~sa.exists().where(Session.id == Turn.session_id)),
        "parses without a turn": sa.select(Parse.id).where(~sa.exists().where(Turn.id == Parse.turn_id)),
        "sessions that are not derived": sa.select(Session.id).where(Session.stale),
    }
    for what, query in queries.items():
        if count := world.value(sa.select(sa.func.count()).select_from(query.subquery())):
            yield f"{count} {what}"
    if world.database is None:
        with world.engine.connect() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
            yield from (f"integrity: {line}" for line in found if line != "ok")
            yield from (f"foreign key: {tuple(row)}" for row in connection.exec_driver_sql("PRAGMA foreign_key_check"))


def run_counts(world: World, profile: str) -> Iterator[str]:
    """The last run's counts are those of the parses that are stored, and each response that is shown has one."""
    verdicts = sa.select(Parse.verdict, sa.func.count()).where(Parse.profile == profile).group_by(Parse.verdict)
    with world.engine.connect() as connection:
        replays = sa.select(Task.state, Task.result).where(Task.kind == "replay").order_by(Task.id.desc())
        run = connection.execute(replays.limit(1)).one()
        counted = dict(connection.execute(verdicts).all())
    counts = (run.result or {}).get("counts", {})
    if run.state != "done" or any(counts.get(name) != count for name, count in counted.items()):
        yield f"the run is {run.state} with {counts}, and {counted} are stored"
    if counts.get("responses") != sum(counted.values()):
        yield f"the run counts {counts.get('responses')} responses, and {sum(counted.values())} parses are stored"
    has_one = sa.exists().where(Parse.turn_id == Turn.id, Parse.profile == profile)
    shown = sa.select(sa.func.count()).select_from(Turn).join(Session, Session.id == Turn.session_id)
    if lacking := world.value(shown.where(is_response, ~has_one, Session.deleted_at.is_(None))):
        yield f"{lacking} responses have no parse of the run"


def recounted(world: World) -> Iterator[str]:
    """Counters, facets, models and findings of every session, beside those made anew, which are rolled back."""
    with world.engine.connect() as connection, connection.begin() as transaction:
        before = _derived(connection)
        for number in before:
            derive.derive(connection, [number])
        after = _derived(connection)
        transaction.rollback()
    for number, columns in before.items():
        for name in (name for name in columns if columns[name] != after[number][name]):
            yield f"session {number}: {name} is {columns[name]!r}, a recount gives {after[number][name]!r}"
    turns = sa.select(DumpSession.session_id, sa.func.sum(DumpSession.new_turns)).group_by(DumpSession.session_id)
    with world.engine.connect() as connection:
        brought = dict(connection.execute(turns).all())
    for number, columns in before.items():
        if brought.get(number) != columns["turn_count"]:
            yield f"session {number}: dumps brought {brought.get(number)} turns, it has {columns['turn_count']}"


def kept(world: World, since: int) -> Iterator[str]:
    """The files of dumps that came since, as they came, where a session of them is stored."""
    has_session = sa.exists().where(DumpSession.dump_id == Dump.id)
    query = sa.select(Dump.sha256, Dump.state).where(Dump.id > since, has_session)
    with world.engine.connect() as connection:
        dumps = connection.execute(query).all()
    for dump in dumps:
        if dump.state != "done":
            yield f"dump {dump.sha256} is {dump.state}"
        try:
            dump_files.unpacked(world.settings, dump.sha256).path.unlink()
        except Exception as error:  # noqa: BLE001 - whatever it is, the file is not there
            yield f"the file of dump {dump.sha256}: {error}"


def pages(world: World, ledger: Ledger) -> Iterator[str]:
    """What the server that is running answers: facets and failure groups as counted anew, and every text found."""
    _, listed = world.ask("GET", "/api/sessions", limit="1")
    _, groups = world.ask("GET", "/api/failures", limit="500")
    anew = database.connect(world.settings.database)  # an index of its own, read from the rows
    with orm.Session(anew) as db:
        page = session_list.page(db, Filters(), limit=1)
        facets = {name: dict(facet.values) for name, facet in page.facets.items()}
        counted = {key: (one.count, len(one.sessions)) for key, one in recount(db).items()}
    anew.dispose()
    slow = {*listed["cut"], *page.cut}  # what took too long, beside all that is being killed, is counted nowhere
    for name in ({*listed["facets"], *facets}) - slow:
        if listed["facets"].get(name) != facets.get(name):
            yield f"the facet {name} is {listed['facets'].get(name)}, the rows give {facets.get(name)}"
    if listed["total"] + listed["hidden"] != len(ledger.sessions):
        yield f"the list has {listed['total']} sessions, {len(ledger.sessions)} were acknowledged"
    told = {group["key"]: (group["count"], group["sessions"]) for group in groups["failures"]}
    if told != counted:
        yield f"failure groups are {told}, a recount gives {counted}"
    for name in [*sorted(ledger.sessions, reverse=True)[:_SEARCHED], *ledger.gone[-3:]]:
        _, found = world.ask("GET", "/api/sessions", q=name)
        ids = [session["id"] for session in found["sessions"]]
        if ids != ([name] if name in ledger.sessions else []):
            yield f"a search for {name} finds {ids}"


def stored_labels(world: World) -> dict[tuple[str, int, str], str]:
    query = sa.select(Session.external_id, Turn.position, Label.author, Label.judgement)
    query = query.join(Turn, Turn.id == Label.turn_id).join(Session, Session.id == Turn.session_id)
    with world.engine.connect() as connection:
        return {(row[0], row[1], row[2]): row[3] for row in connection.execute(query)}


def _events(world: World) -> list[tuple[str, int, str]]:
    query = sa.select(Session.external_id, Turn.position, LabelEvent.author)
    query = query.join(Turn, Turn.id == LabelEvent.turn_id).join(Session, Session.id == Turn.session_id)
    with world.engine.connect() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def _label_counts(world: World) -> Iterator[str]:
    query = sa.select(Session.id, Session.label_count, sa.func.count(Label.turn_id.distinct()))
    query = query.outerjoin(Turn, Turn.session_id == Session.id).outerjoin(Label, Label.turn_id == Turn.id)
    with world.engine.connect() as connection:
        for number, counter, counted in connection.execute(query.group_by(Session.id, Session.label_count)):
            if counter != counted:
                yield f"session {number} says {counter} labelled responses and has {counted}"


def _derived(connection: sa.Connection) -> dict[int, dict[str, Any]]:
    columns = [column for column in Session.__table__.columns if column.name not in _UNTOUCHED]
    rows = {row.id: dict(row._mapping) for row in connection.execute(sa.select(*columns))}
    for row in rows.values():
        row["findings"] = []
    finding = sa.select(Finding.session_id, Finding.rule, Finding.severity, Finding.turns, Finding.detail)
    for number, *said in connection.execute(finding.order_by(Finding.rule, Finding.id)):
        rows[number]["findings"].append(said)
    return rows
