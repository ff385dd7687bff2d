"""`fencepost label`: judge a response, or list the labels."""

from __future__ import annotations

import getpass
import json
from typing import Any

import click
from sqlalchemy import orm

from webapp import jsontext
from webapp.commands import _store
from webapp.commands._visible import clipped, visible
from webapp.store import labels, sessions, turns
from webapp.store.models import Label


class PutOrList(click.Group):
    """`label ID POSITION JUDGEMENT` is short for `label put ID POSITION JUDGEMENT`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["put", *args]
        return super().parse_args(ctx, args)


@click.group("label", cls=PutOrList, short_help="List labels, or judge a response.")
def command() -> None:
    """Judge a response (fencepost label ID POSITION JUDGEMENT), or list what was judged.

    Exits with 0 when done, with 1 when there is no such response or the label is refused, with 2 when used wrongly.
    """


@command.command("put")
@click.option("--cause", metavar="C", help="Why it did not parse, in a word or two.")
@click.option("--note", metavar="TEXT")
@click.option("--expected", metavar="JSON", help="The value that should have come out.")
@click.option("--author", metavar="NAME", help="Who judges; the system's user otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print the label as JSON.")
@click.argument("ident", metavar="ID")
@click.argument("position", type=click.IntRange(min=0))
@click.argument("judgement", type=click.Choice(list(labels.JUDGEMENTS)))
def put(
    ident: str,
    position: int,
    judgement: str,
    cause: str | None,
    note: str | None,
    expected: str | None,
    author: str | None,
    as_json: bool,
) -> None:
    """Judge the response at POSITION of the session ID."""
    values: dict[str, Any] = {"judgement": judgement, "cause": cause, "note": note, "author": author or _user()}
    values |= {"expected": _value(expected), "has_expected": expected is not None}
    with _store.engine(_store.settings()) as engine, orm.Session(engine) as db:
        try:
            session = sessions.find(db, ident)
            label = labels.put(db, turns.find(db, session, position).turn, **values)
        except (sessions.NoSuchSession, turns.NoSuchTurn, labels.BadLabel) as refused:
            raise click.ClickException(str(refused)) from None
        if as_json:
            _store.print_json({"session": session.external_id, "position": position, **_document(label)})
        else:
            click.echo(visible(f"{session.external_id} {position}: {label.judgement}, said {label.author}"))


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print all labels as one JSON list.")
def list_(as_json: bool) -> None:
    """List the labels, the newest first."""
    with _store.engine(_store.settings()) as engine, orm.Session(engine) as db:
        lines: list[labels.LabelLine] = []
        while batch := labels.page(db, after=lines[-1].after if lines else None, limit=500):
            lines += batch
    if as_json:
        _store.print_json([dict(_fields(line)) for line in lines])
        return
    for line in lines:
        said = " · ".join(text for text in (line.judgement, line.cause, line.note, line.author) if text)
        click.echo(visible(f"{line.external_id} {line.position}: {clipped(said, 200)}"))


def _fields(line: labels.LabelLine) -> list[tuple[str, Any]]:
    names = ("external_id", "revision", "key", "position", "judgement", "cause", "note", "author", "made_at")
    return [(name, getattr(line, name)) for name in (*names, "has_expected", "expected", "preview")]


def _document(label: Label) -> dict[str, Any]:
    names = ("author", "judgement", "cause", "note", "has_expected", "expected", "made_at")
    return {name: getattr(label, name) for name in names}


def _value(expected: str | None) -> Any:
    if expected is None:
        return None
    try:
        return jsontext.loads(expected)
    except (json.JSONDecodeError, RecursionError) as error:
        raise click.UsageError(f"--expected takes JSON: {error}") from None


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "cli"
