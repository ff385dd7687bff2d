"""`fencepost dump`: write a session as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator

import click
from sqlalchemy import orm

from webapp.commands import _arguments, _store, _terminal
from webapp.commands._arguments import refuse
from webapp.exports.redaction import Redactor
from webapp.parsing.words import counted
from webapp.store.exports import exporting, session_dump
from webapp.store.models import Session
from webapp.store.sessions import sessions


@click.command("dump")
@click.option(
    "--format", "name", metavar="F", help="Print it as report (Markdown) or html (one file, opens offline) instead."
)
@_arguments.redaction_options
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the document and write no file.")
@click.option("--zip", "as_zip", is_flag=True, help="Print a zip of the documents of one session or several.")
@click.option("--json", "as_json", is_flag=True, help="Print the file's path and its entry count as JSON.")
@click.argument("idents", metavar="ID...", nargs=-1, required=True)
def command(
    name: str | None,
    redactor: Redactor | None,
    to_stdout: bool,
    as_zip: bool,
    as_json: bool,
    idents: tuple[str, ...],
) -> None:
    """Write the session ID (its own id, or its key) to logs/session_dumps under the data folder.

    fencepost dump --zip ID ID > sessions.zip prints several as one zip.

    Exits with 0 when done, with 1 when there is no such session, with 2 when used wrongly.
    """
    printed = (to_stdout or as_zip) and as_json
    refuse(printed, "--stdout and --zip print the documents themselves; they do not go with --json")
    several = len(idents) > 1 and not as_zip
    refuse(several, "several sessions go into one zip: fencepost dump --zip ID ID > sessions.zip")
    refuse(as_zip and name, "--zip contains session dumps and cannot be combined with --format")
    refuse(redactor and not name, "a session dump is unchanged input; redaction needs --format report or html")
    settings = _store.settings()
    with _store.engine(settings) as engine, orm.Session(engine) as db:
        chosen = [sessions.find(db, ident) for ident in dict.fromkeys(idents)]
        if as_zip or name is not None or to_stdout:
            _store.print_pieces(_pieces(db, chosen, name, redactor, as_zip=as_zip))
            return
        try:
            written = session_dump.write(db, settings, chosen[0])
        except OSError as error:
            raise click.ClickException(f"the dump cannot be written: {error}") from None
    document = {"success": True, "dump_path": written.name, "entry_count": written.entry_count}
    _terminal.say(as_json, document, f"{written.address}: {counted(written.entry_count, 'entry', 'entries')}")


def _pieces(
    db: orm.Session, chosen: list[Session], name: str | None, redactor: Redactor | None, *, as_zip: bool
) -> Iterator[bytes]:
    if as_zip:
        return session_dump.stream_zip(db, chosen)
    if name is not None:
        return exporting.session(db, name, chosen[0], redactor=redactor)
    return session_dump.stream(db, chosen[0])
