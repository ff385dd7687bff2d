"""`fencepost label export`: labelled responses in a format of your choice."""

from __future__ import annotations

import click
from sqlalchemy import orm

from webapp.commands import _export, _store
from webapp.exports import base
from webapp.store import exporting, sessions


@click.command("export", short_help="Write labelled responses as JSONL, CSV, pytest and more.")
@click.option(
    "--format", "name", default="jsonl", show_default=True, metavar="F", help="jsonl, csv, parquet, pytest, cases …"
)
@click.option("--session", "idents", multiple=True, metavar="ID", help="Only of this session. Repeatable.")
@click.option("--list", "list_formats", is_flag=True, help="List the formats and what each is for.")
@_export.redaction_options
def command(
    name: str,
    idents: tuple[str, ...],
    list_formats: bool,
    keys: tuple[str, ...],
    patterns: tuple[str, ...],
    secrets: bool,
) -> None:
    """Print labelled responses to standard output: fencepost label export --format pytest > test_responses.py

    Author, time, note and history go along. Exits with 0 when done, with 1 where a session is not there, with 2 when
    used wrongly.
    """
    if list_formats:
        for known, words in base.described("labels"):
            click.echo(f"{known:<12} {words}")
        return
    redactor = _export.asked(keys, patterns, secrets)
    with _store.engine(_store.settings()) as engine, orm.Session(engine) as db:
        try:
            only = [sessions.find(db, ident).id for ident in idents] or None
            scope = f"labels of {', '.join(idents)}" if idents else "all labels"
            pieces = exporting.labels(db, name, scope=scope, redactor=redactor, sessions=only)
        except sessions.NoSuchSession as missing:
            raise click.ClickException(str(missing)) from None
        except base.UnknownExport as unknown:
            raise click.UsageError(str(unknown)) from None
        _export.write(pieces)
