"""`fencepost home`: which parser the programs behind stored sessions use."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click
import sqlalchemy as sa
from sqlalchemy import orm

from webapp.commands import _store, _terminal
from webapp.commands._arguments import PROFILE, refuse
from webapp.parsing import UnknownProfile, helps, refuse_absent
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
from webapp.store.sessions.filters import of_parameters
from webapp.store.sessions.sessions import words_of
from webapp.store.write.parser import Home

MOST_TRIED = 1000
"""responses on which every profile is tried while somebody waits: some seven seconds of a processor"""
_MOST = 10_000
"""sessions that one question is about"""
_LATER = "later"


@click.group("home")
def command() -> None:
    """Set the parser ("home profile") of the programs behind stored sessions; it decides which responses failed."""


@command.command("set", short_help="Give sessions a parser.")
@click.argument("profile", type=PROFILE, metavar="P")
@click.argument("idents", nargs=-1, metavar="[SESSION…]")
@click.option("--dump", metavar="D", help="All sessions of a log: its number or the beginning of its sha256.")
@click.option("--format", metavar="F", help="All sessions of a source format.")
@click.option("--service", metavar="NAME", help="All sessions of a service.")
@click.option("--filter", "filters", metavar="NAME=VALUE", multiple=True, help="The list's filters: model=m q=text …")
@click.option("--all", "everything", is_flag=True, help="All sessions.")
@click.option("--unknown", "unknown_only", is_flag=True, help="Only those whose parser is unknown.")
@click.option("--remember", is_flag=True, help="Use it for later imports of that format or service too.")
@click.option("--json", "as_json", is_flag=True, help="Print the change as JSON.")
def set_home(profile: str, idents: tuple[str, ...], remember: bool, as_json: bool, **scope_options: Any) -> None:
    """Give sessions the parser P, or "unknown" for none; updates verdicts, counts and findings.

    Exits with 0 when done, with 1 where there is no such session, with 2 when used wrongly. If interrupted, the server
    continues it, or `fencepost home resume`.
    """
    with _store.engine(_store.settings()) as engine:
        home = changes.home_of_name(profile)
        if home.known:  # what failed under a parser that cannot run here could not be said
            refuse_absent(find_profile(home.profile))
        with orm.Session(engine) as db:
            scope = _scope(db, idents, **scope_options)
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


def _scope(
    db: orm.Session,
    idents: tuple[str, ...],
    filters: tuple[str, ...],
    everything: bool,
    unknown_only: bool,
    **alone: str | None,
) -> HomeScope:
    """By one of its options, or `alone` by a filter. Raises `BadFilter`, `NoSuchSession`, and a usage error."""
    is_one = sum(map(bool, (idents, filters, everything, *alone.values()))) == 1
    refuse(not is_one, "Give sessions, or one of --dump, --format, --service, --filter and --all.")
    if idents:
        return HomeScope(tuple(sessions.find(db, ident).key for ident in idents), unknown_only=unknown_only)
    for option in filters:
        refuse("=" not in option, f"--filter takes NAME=VALUE, not {option!r}.")
    if alone["dump"]:
        alone["dump"] = str(dumps.find_id(db, alone["dump"]))
    parameters = dict(option.split("=", 1) for option in filters)
    parameters |= {name: value for name, value in alone.items() if value}
    return HomeScope(filters=of_parameters(parameters), unknown_only=unknown_only)


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
        asked = counted_question(engine, where)
    nothing = "every parser is known, or matters to no text"
    _terminal.say(as_json, asked, *([nothing] if asked is None else lines_of(asked)))


def question(engine: sa.Engine, where: sa.ColumnElement[bool] | None) -> Question | None:
    with engine.connect() as connection:
        return trials.question(connection, where)


def counted_question(
    engine: sa.Engine, where: sa.ColumnElement[bool] | None, most: int | None = None
) -> Question | None:
    """The question with its numbers; those not known yet are counted now, on `most` responses at most."""
    open_question = question(engine, where)
    if open_question is None or open_question.is_counted:
        return open_question
    trials.count_all(engine, where=where, most=most)
    return question(engine, where)


def lines_of(open_question: Question) -> Iterator[str]:
    """What is asked, and each parser with its number."""
    yield _words(open_question)
    help_texts = helps()
    for candidate in open_question.candidates:
        failed = "not counted yet" if candidate.failed is None else f"{candidate.failed:,} would have failed"
        failed += f", no JSON in {candidate.none:,}" if candidate.none else ""
        yield f"  {candidate.profile:<22} {failed:<42}  {help_texts.get(candidate.profile, '')}"
    if not open_question.is_counted:
        yield "fencepost home which counts them all"


def _words(open_question: Question) -> str:
    return (
        f"parser unknown: {open_question.not_json:,} of {counted(open_question.responses, 'response')} "
        f"{'is' if open_question.not_json == 1 else 'are'} not plain JSON, native calls and prose set aside"
    )


def after_ingest(engine: sa.Engine, keys: list[str], *, quiet: bool) -> Question | None:
    """Say which parsers of sessions that came were inferred, and of which sessions the parser is unknown.

    Where a person sits at a terminal, ask for it.
    """
    where = Session.key.in_(keys[:_MOST])
    query = sa.select(Session.home_profile, Session.home_source, Session.extra)
    with engine.connect() as connection:
        rows = connection.execute(query.where(where, Session.home_source == rules.SOURCE)).all()
    inferred = Counter((row.home_profile, rules.evidence(*row) or "") for row in rows)
    for (parser, evidence), count in inferred.items():
        _terminal.put(f"{counted(count, 'session')} read by {parser}. {evidence}", err=quiet)
    open_question = question(engine, where)
    if open_question is not None and not quiet:
        _ask(engine, where, keys, open_question)
    return open_question


def _ask(engine: sa.Engine, where: sa.ColumnElement[bool], keys: list[str], open_question: Question) -> None:
    if not (os.isatty(0) and os.isatty(1)):
        how = "say which parser your program uses: --home P, or fencepost home set P --all"
        _terminal.put(f"{_words(open_question)}; {how}", err=True)
        return
    open_question = counted_question(engine, where, MOST_TRIED) or open_question
    _terminal.put(*lines_of(open_question))
    home = _prompted()
    if home is None:
        return
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id).where(where, Session.home_source == "unknown")).all()
    number = changes.begin(engine, ids, home, scope={"keys": list(keys[:100])})
    changes.work(engine, number)
    _terminal.put(f"{counted(len(ids), 'session')} read by {home.profile}; fencepost home undo {number} undoes it")


def _prompted() -> Home | None:
    """The parser that a person at the terminal names; None where they do not say yet."""
    while (name := click.prompt("Which of them does your program use?", default=_LATER, err=True)) != _LATER:
        try:
            return changes.home_of_name(name)
        except UnknownProfile as unknown:
            _terminal.put(str(unknown), err=True)
    return None
