"""`fencepost home`: which parser the programs behind stored sessions use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click
import sqlalchemy as sa
from sqlalchemy import orm

from webapp.commands import _store, _terminal
from webapp.commands._arguments import PROFILE, refuse
from webapp.parsing import helps, refuse_absent
from webapp.parsing import profile as find_profile
from webapp.parsing.words import counted
from webapp.store import tasks
from webapp.store.homes import changes, rules, trials
from webapp.store.homes.changes import BadScope, HomeScope
from webapp.store.homes.trials import Question
from webapp.store.jobs import worker
from webapp.store.labels.label_content import system_user
from webapp.store.models import Session
from webapp.store.sessions import dumps, sessions
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.sessions import words_of

_MOST = 10_000
"""sessions that one question is about"""


@click.group("home")
def command() -> None:
    """Set the parser ("home profile") of the programs behind stored sessions; it decides which responses failed."""


@command.command("set", short_help="Give sessions a parser.")
@click.argument("profile", type=PROFILE, metavar="P")
@click.argument("idents", nargs=-1, metavar="[SESSION…]")
@click.option("--all", "everything", is_flag=True, help="All sessions.")
@click.option("--unknown", "unknown_only", is_flag=True, help="Only those whose parser is unknown.")
@click.option("--remember", is_flag=True, help="Use it for later imports of that format or service too.")
@click.option("--json", "as_json", is_flag=True, help="Print the change as JSON.")
@_store.filter_options
def set_home(
    profile: str,
    idents: tuple[str, ...],
    everything: bool,
    unknown_only: bool,
    remember: bool,
    as_json: bool,
    filters: Filters | None,
) -> None:
    """Give sessions, or those under the filters, the parser P, or "unknown" for none; updates verdicts and findings.

    Exits with 0 when done, with 1 where there is no such session, with 2 when used wrongly. If interrupted, the server
    continues it, or `fencepost home resume`.
    """
    with _store.engine(_store.settings()) as engine:
        refuse(sum(map(bool, (idents, filters, everything))) != 1, "Give sessions, or filters, or --all.")
        home = changes.home_of_name(profile)
        if home.known:  # what failed under a parser that cannot run here could not be said
            refuse_absent(find_profile(home.profile))
        with orm.Session(engine) as db:
            keys = tuple(sessions.find(db, ident).key for ident in idents)
            scope = HomeScope(keys, filters or Filters(), unknown_only=unknown_only)
            if remember:
                changes.remember(engine, scope, home.profile, system_user())
            try:
                ids = changes.session_ids(db, scope)
            except BadScope:
                if not remember:
                    raise
                words = f"remembered: {home.profile} for {words_of(scope.as_dict())}; none is stored yet"
                _terminal.say(as_json, {"remembered": scope.as_dict()}, words)
                return
        number = changes.begin(engine, ids, home, scope=scope.as_dict(), author=system_user())
        _work(engine, number, as_json)


def _work(engine: sa.Engine, number: int, as_json: bool) -> None:
    with _terminal.bar("sessions", hidden=as_json) as tell:
        changes.work(engine, number, on_progress=tell)
    with engine.connect() as connection:
        line = changes.as_dict(tasks.find(connection, number))
    sessions = counted(line["total"], "session")
    done = f"{line['profile']}: {sessions}; fencepost home undo {number} undoes it"
    _terminal.say(as_json, line, f"{sessions} as before" if line["undoes"] else done)


@command.command("undo", short_help="Undo a change.")
@click.argument("number", type=click.IntRange(1, 2**63 - 1))
@click.option("--json", "as_json", is_flag=True, help="Print the change as JSON.")
def undo(number: int, as_json: bool) -> None:
    """Undo a change; sessions that were changed again since keep their parser."""
    with _store.engine(_store.settings()) as engine:
        _work(engine, changes.begin_undoing(engine, number, system_user()), as_json)


@command.command("resume")
def resume() -> None:
    """Finish the changes that were interrupted.

    Exits with 1 where one of them fails; the others are finished.
    """
    settings, failed = _store.settings(), False
    with _store.engine(settings) as engine:
        for number in tasks.free(engine, settings, tasks.HOMES):
            worker.do(engine, settings, number)
            with engine.connect() as connection:
                task = tasks.find(connection, number)
            _terminal.put(_change_words(changes.as_dict(task)))
            if task.state == "failed":
                failed = True
                _terminal.put(f"Error: {(task.result or {})['error']['message']}", err=True)
    if failed:
        raise SystemExit(1)


@command.command("changes")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_changes(as_json: bool) -> None:
    """List the last changes, the newest first."""
    with _store.engine(_store.settings()) as engine, engine.connect() as connection:
        lines = [changes.as_dict(task) for task in tasks.page(connection, tasks.HOMES, limit=changes.MOST_SHOWN)]
    _terminal.say(as_json, lines, *map(_change_words, lines))


def _change_words(line: dict[str, Any]) -> str:
    undone = ", undone" if line["undone"] else f", undoes {line['undoes']}" if line["undoes"] else ""
    share = f"{line['finished']:,} of {line['total']:,}"
    return f"{line['id']:>5}  {line['state']:<9} {share}  {line['profile']} for {words_of(line['scope'])}{undone}"


@command.command("rules")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_rules(as_json: bool) -> None:
    """List the rules for later imports."""
    with _store.engine(_store.settings()) as engine, engine.connect() as connection:
        lines = rules.lines(connection)
    words = (f"{line.id:>5}  {line.kind} {line.name}: {line.content['profile']}" for line in lines)
    _terminal.say(as_json, [rules.as_dict(line) for line in lines], *words)


@command.command("forget", short_help="Delete a rule.")
@click.argument("number", type=click.IntRange(1, 2**63 - 1))
def forget(number: int) -> None:
    """Delete a rule; sessions that it applied to keep their parser."""
    with _store.engine(_store.settings()) as engine:
        line = rules.forget(engine, number)
    _terminal.put(f"forgotten: {line.kind} {line.name}")


@command.command("which", short_help="Try every profile where the parser is unknown.")
@click.option("--dump", metavar="D", help="Only sessions of a log.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def which(dump: str | None, as_json: bool) -> None:
    """Try every profile on the sessions whose parser is unknown: how many responses would have failed under each."""
    with _store.engine(_store.settings()) as engine:
        with orm.Session(engine) as db:
            where = None if dump is None else trials.of_dump(dumps.find_id(db, dump))
        trials.count_all(engine, where=where)
        with engine.connect() as connection:
            asked = trials.question(connection, where)
    nothing = "every parser is known, or matters to no text"
    _terminal.say(as_json, asked, *([nothing] if asked is None else _lines(asked)))


def _lines(open_question: Question) -> Iterator[str]:
    """What is asked, and each parser with its number."""
    yield _words(open_question)
    help_texts = helps()
    for candidate in open_question.candidates:
        failed = "not counted yet" if candidate.failed is None else f"{candidate.failed:,} would have failed"
        failed += f", no JSON in {candidate.none:,}" if candidate.none else ""
        yield f"  {candidate.profile:<22} {failed:<42}  {help_texts.get(candidate.profile, '')}"


def _words(open_question: Question) -> str:
    return (
        f"parser unknown: {open_question.not_json:,} of {counted(open_question.responses, 'response')} "
        f"{'is' if open_question.not_json == 1 else 'are'} not plain JSON, native calls and prose set aside"
    )


def after_ingest(engine: sa.Engine, keys: list[str], *, quiet: bool) -> Question | None:
    """Say which parsers of sessions that came were inferred, and of which sessions the parser is unknown."""
    where = Session.key.in_(keys[:_MOST])
    query = sa.select(Session.home_profile, Session.home_source, Session.extra)
    with engine.connect() as connection:
        rows = connection.execute(query.where(where, Session.home_source == rules.SOURCE)).all()
        open_question = trials.question(connection, where)
    inferred = Counter((row.home_profile, rules.evidence(*row) or "") for row in rows)
    for (parser, evidence), count in inferred.items():
        _terminal.put(f"{counted(count, 'session')} read by {parser}. {evidence}", err=quiet)
    if open_question is not None and not quiet:
        how = "say which parser your program uses: --home P, or fencepost home set P --all"
        _terminal.put(f"{_words(open_question)}; {how} (fencepost home which tries each)", err=True)
    return open_question
