"""`fencepost db`: create, migrate and check the database."""

from __future__ import annotations

import sys

import click
import sqlalchemy as sa
from rich.console import Console
from rich.progress import Progress

from webapp.commands import _store
from webapp.store import database, models, reindex


@click.group("db", short_help="Create, migrate and check the database.")
def command() -> None:
    """Create, migrate and check the database that FENCEPOST_DATABASE names."""


@command.command("migrate")
@click.option("--json", "as_json", is_flag=True, help="Print the revisions before and after as JSON.")
def migrate(as_json: bool) -> None:
    """Create the database or bring it to the newest revision; exits with 1 where it is newer than this program."""
    with _store.engine(_store.settings(), migrate=False) as engine:
        before = database.revision(engine)
        database.migrate(engine)
    if as_json:
        _store.print_json({"before": before, "revision": database.HEAD})
    elif before == database.HEAD:
        click.echo(f"at revision {database.HEAD}, the newest; nothing to do")
    else:
        click.echo(f"from revision {before or 'none'} to {database.HEAD}")


@command.command("reindex")
@click.option("--all", "anew", is_flag=True, help="Make the whole search index anew.")
@click.option("--json", "as_json", is_flag=True, help="Print how many sessions were filled in as JSON.")
def reindex_(anew: bool, as_json: bool) -> None:
    """Fill in the search index, and the facets and findings of sessions from before there were any.

    Interrupted, it goes on where it was. Without --all it does what is missing and nothing else.
    """
    with _store.engine(_store.settings()) as engine, Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sessions", total=None)
        done = reindex.reindex(engine, anew=anew, told=lambda at, of: bar.update(task, completed=at, total=of))
    if as_json:
        _store.print_json({"sessions": done})
    else:
        click.echo(f"{done:,} session{'' if done == 1 else 's'} filled in" if done else "nothing is missing")


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(as_json: bool) -> None:
    """Show the database, its revision and what it holds; exits with 1 where it is not at the newest revision."""
    settings = _store.settings()
    with _store.engine(settings, migrate=False) as engine:
        found = database.revision(engine)
        current = found == database.HEAD
        counts = _counts(engine) if current else {}
        shown = engine.url.render_as_string(hide_password=True)
    if as_json:
        _store.print_json({"database": shown, "revision": found, "newest": database.HEAD, "counts": counts})
    else:
        click.echo(f"{shown}\nrevision {found or 'none'}{'' if current else f', the newest is {database.HEAD}'}")
        for name, count in counts.items():
            click.echo(f"{name:<10} {count:>10,}")
    sys.exit(0 if current else 1)


def _counts(engine: sa.Engine) -> dict[str, int]:
    tables = (models.Dump, models.Session, models.Turn, models.Parse, models.Label)
    with engine.connect() as connection:
        return {
            table.__tablename__: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in tables
        }
