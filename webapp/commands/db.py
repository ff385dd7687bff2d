"""`fencepost db`: create, migrate, copy, back up and check the database."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click
import sqlalchemy as sa

from webapp.commands import _store, _terminal
from webapp.commands._arguments import refuse
from webapp.parsing.words import counted
from webapp.store import derive, models
from webapp.store.db import database
from webapp.store.jobs import database_copy


@click.group("db")
def command() -> None:
    """Create, migrate, copy and check the database that FENCEPOST_DATABASE names."""


@command.command("migrate", short_help="Create the database, or upgrade it.")
@click.option("--json", "as_json", is_flag=True, help="Print the revisions before and after as JSON.")
def migrate(as_json: bool) -> None:
    """Create the database or upgrade it to the newest revision; exits with 1 when it is newer than this program."""
    with _store.engine(_store.settings(), migrate=False) as engine:
        before = database.revision(engine)
        database.migrate(engine)
    done = f"from revision {before or 'none'} to {database.HEAD}"
    words = f"at revision {database.HEAD}, the newest; nothing to do" if before == database.HEAD else done
    _terminal.say(as_json, {"before": before, "revision": database.HEAD}, words)


@command.command("reindex", short_help="Make the search index anew.")
@click.option("--all", "anew", is_flag=True, help="Rebuild the whole search index.")
@click.option("--findings", is_flag=True, help="Derive every session anew: new rules, other schemas and tools.")
@click.option("--json", "as_json", is_flag=True, help="Print how many sessions were filled in as JSON.")
def reindex_(anew: bool, findings: bool, as_json: bool) -> None:
    """Make the search index anew (--all), and what is made of sessions of which it is missing.

    If interrupted, run it again to continue. Uploads wait while the index is made.
    """
    with _store.engine(_store.settings()) as engine, _terminal.bar("sessions") as tell:
        count = derive.reindex(engine, anew=anew, every=findings, on_progress=tell)
    words = f"{counted(count, 'session')} filled in" if count else "nothing is missing"
    _terminal.say(as_json, {"sessions": count}, words)


@command.command("status", short_help="Show the database, its revision and its contents.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(as_json: bool) -> None:
    """Show the database, its revision and its contents; exits with 1 when it is not at the newest revision."""
    settings = _store.settings()
    with _store.engine(settings, migrate=False) as engine:
        revision = database.revision(engine)
        current = revision == database.HEAD
        counts = _counts(engine) if current else {}
        address = engine.url.render_as_string(hide_password=True)
    document = {"database": address, "revision": revision, "newest": database.HEAD, "counts": counts}
    words = f"revision {revision or 'none'}{'' if current else f', the newest is {database.HEAD}'}"
    _terminal.say(as_json, document, address, words, *(f"{name:<10} {count:>10,}" for name, count in counts.items()))
    sys.exit(0 if current else 1)


@command.command("backup", short_help="Copy a SQLite database while a server writes.")
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the copy's bytes as JSON.")
def backup_(target: Path, as_json: bool) -> None:
    """Copy a SQLite database to the new file TARGET, even while a server is writing, and check the copy.

    Stored logs and the secret key are files next to the database; copy them separately (docs/deploy.md). Exits with 1
    when TARGET cannot be written or exists already, with 2 for a database on a server.
    """
    with _store.engine(_store.settings(), migrate=False) as engine, _terminal.bar("pages") as tell:
        try:
            size = database_copy.back_up(engine, target, tell)
        except OSError as error:
            raise click.ClickException(str(error)) from None
    _terminal.say(as_json, {"bytes": size}, f"{target}: {size:,} bytes, checked")


@command.command("copy", short_help="Copy a database into an empty one.")
@click.argument("source")
@click.argument("target")
@click.option("--json", "as_json", is_flag=True, help="Print each table's rows as JSON.")
def copy_(source: str, target: str, as_json: bool) -> None:
    """Copy everything in the database SOURCE to the empty database TARGET.

    Each is a URL as for FENCEPOST_DATABASE, or the path of a SQLite file. Stop the server first: anything written
    during the copy is missing from it. An interrupted copy leaves TARGET empty. Stored logs and the secret key stay in
    the data folder.

    Exits with 1 when SOURCE is at an older revision or TARGET is not empty.
    """
    addresses = _database_address(source, is_source=True), _database_address(target)
    refuse(addresses[0] == addresses[1], "SOURCE and TARGET are the same database")
    settings = _store.settings()
    opened = [_store.engine(replace(settings, database=address), migrate=False) for address in addresses]
    with opened[0] as first, opened[1] as written, _terminal.bar("copying") as tell:
        copies = database_copy.copy(first, written, lambda name, done, of: tell(done, of or None, name))
    total = f"{counted(sum(copies.values()), 'row')} in {counted(len(copies), 'table')}"
    tables = [{"name": name, "rows": rows} for name, rows in copies.items()]
    _terminal.say(as_json, {"tables": tables}, *(f"{name:<24} {rows:>12,}" for name, rows in copies.items()), total)


def _database_address(text: str, *, is_source: bool = False) -> str:
    if "://" in text:
        return text
    path = Path(text).expanduser().absolute()
    refuse(is_source and not path.is_file(), f"SOURCE: there is no file {text}")
    return f"sqlite:///{path}"


def _counts(engine: sa.Engine) -> dict[str, int]:
    tables = (models.Dump, models.Session, models.Turn, models.Parse, models.Label)
    with engine.connect() as connection:
        return {
            table.__tablename__: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in tables
        }
