"""Asks in the terminal which parser a program uses, with how many responses would have failed under each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

import click
import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import UnknownProfile
from webapp.parsing.words import counted
from webapp.store.homes import changes, rules, trials
from webapp.store.homes.trials import Question
from webapp.store.models import Session
from webapp.store.sessions import dumps
from webapp.store.write.parser import Home
from webapp.visible import visible

_LATER = "later"
MOST_TRIED = 1000
"""responses on which every profile is tried while somebody waits: some seven seconds of a processor"""
_MOST = 10_000
"""sessions that one question is about"""


def where_dump(engine: sa.Engine, ident: str) -> sa.ColumnElement[bool]:
    """A dump's sessions; raises `NoSuchDump`."""
    with orm.Session(engine) as db:
        return trials.of_dump(dumps.find_id(db, ident))


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


def say(open_question: Question, help_texts: Mapping[str, str]) -> None:
    """What is asked, and each parser with its number."""
    click.echo(words(open_question))
    for candidate in open_question.candidates:
        failed = "not counted yet" if candidate.failed is None else f"{candidate.failed:,} would have failed"
        failed += f", no JSON in {candidate.none:,}" if candidate.none else ""
        click.echo(visible(f"  {candidate.profile:<22} {failed:<42}  {help_texts[candidate.profile]}"))
    if not open_question.is_counted:
        click.echo("fencepost home which counts them all")


def words(open_question: Question) -> str:
    return (
        f"parser unknown: {open_question.not_json:,} of {counted(open_question.responses, 'response')} "
        f"{'is' if open_question.not_json == 1 else 'are'} not plain JSON, native calls and prose set aside"
    )


def of_keys(engine: sa.Engine, keys: Sequence[str]) -> Question | None:
    """What is to be asked about these sessions; None where no unknown parser matters."""
    return question(engine, Session.key.in_(keys[:_MOST]))


def inferred(engine: sa.Engine, keys: Sequence[str]) -> Counter[tuple[str, str]]:
    """How many of these sessions have a parser that was inferred, by the parser and from what."""
    query = sa.select(Session.home_profile, Session.home_source, Session.extra)
    with engine.connect() as connection:
        rows = connection.execute(query.where(Session.key.in_(keys[:_MOST]), Session.home_source == rules.SOURCE))
        return Counter((row.home_profile, rules.evidence(*row) or "") for row in rows)


def after_ingest(engine: sa.Engine, keys: Sequence[str], open_question: Question) -> None:
    """Say that the parser of sessions that came is unknown; where a person sits at a terminal, ask for it."""
    where = Session.key.in_(keys[:_MOST])
    if not (os.isatty(0) and os.isatty(1)):
        click.echo(
            f"{words(open_question)}; say which parser your program uses: --home P, or fencepost home set P --all",
            err=True,
        )
        return
    open_question = counted_question(engine, where, MOST_TRIED) or open_question
    say(open_question, trials.profiles_help())
    home = _prompted()
    if home is None:
        return
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id).where(where, Session.home_source == "unknown")).all()
    number = changes.begin(engine, ids, home, scope={"keys": list(keys[:100])})
    changes.work(engine, number)
    click.echo(
        visible(f"{counted(len(ids), 'session')} read by {home.profile}; fencepost home undo {number} undoes it")
    )


def _prompted() -> Home | None:
    """The parser that a person at the terminal names; None where they do not say yet."""
    while (name := click.prompt("Which of them does your program use?", default=_LATER, err=True)) != _LATER:
        try:
            return changes.home_of_name(name)
        except UnknownProfile as unknown:
            click.echo(visible(str(unknown)), err=True)
    return None
