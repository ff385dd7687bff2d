"""`fencepost dump`: write a session as one JSON document."""

from __future__ import annotations

import sys

import click
from sqlalchemy import orm

from webapp.commands import _store
from webapp.commands._words import counted
from webapp.store import dump, sessions


@click.command("dump", short_help="Write a session as one JSON document.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the document and write no file.")
@click.option("--json", "as_json", is_flag=True, help="Print where the file is and its entry count as JSON.")
@click.argument("ident", metavar="ID")
def command(to_stdout: bool, as_json: bool, ident: str) -> None:
    """Write the session ID (its own id, or its key) to logs/session_dumps under the data folder.

    Exits with 0 when done, with 1 when there is no such session, with 2 when used wrongly.
    """
    if to_stdout and as_json:
        raise click.UsageError("--stdout prints the document itself; it does not go with --json")
    settings = _store.settings()
    with _store.engine(settings) as engine, orm.Session(engine) as db:
        try:
            session = sessions.find(db, ident)
        except sessions.NoSuchSession as missing:
            raise click.ClickException(str(missing)) from None
        if to_stdout:
            sys.stdout.buffer.writelines(dump.stream(db, session))
            return
        try:
            written = dump.write(db, settings, session)
        except OSError as error:
            raise click.ClickException(f"the dump cannot be written: {error}") from None
    if as_json:
        _store.print_json({"success": True, "dump_path": written.relative, "entry_count": written.entry_count})
    else:
        click.echo(f"{written.path}: {counted(written.entry_count, 'entry').replace('entrys', 'entries')}")
