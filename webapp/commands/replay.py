"""`fencepost replay`: run a profile over stored responses."""

from __future__ import annotations

import click

from webapp.commands import _store
from webapp.commands._words import MARKS, counted
from webapp.parsing import UnknownProfile
from webapp.store import runs, sessions


@click.command("replay", short_help="Run a profile over stored responses.")
@click.option("--profile", "name", required=True, metavar="P", help="The profile to run.")
@click.option("--session", "ident", metavar="ID", help="Only this session; all otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print the run and its counts as JSON.")
def command(name: str, ident: str | None, as_json: bool) -> None:
    """Parse stored responses with another profile, keep the traces, and count the verdicts.

    Exits with 0 when done, with 1 when there is no such session, with 2 when used wrongly.
    """
    with _store.engine(_store.settings()) as engine:
        try:
            run = runs.replay(engine, name, session=ident)
        except UnknownProfile as unknown:
            raise click.UsageError(str(unknown)) from None
        except sessions.NoSuchSession as missing:
            raise click.ClickException(str(missing)) from None
    if as_json:
        _store.print_json(run)
        return
    click.echo(f"{run.profile} {run.version}: {counted(run.counts['responses'], 'response')}")
    for verdict, mark in MARKS.items():
        click.echo(f"  {mark} {verdict:<10} {run.counts[verdict]:>8,}")
    click.echo(f"  of those that failed in production, {run.counts['rescued']:,} rescued")
