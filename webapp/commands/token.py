"""`fencepost token`: an access token that nobody guesses."""

from __future__ import annotations

import secrets

import click

BYTES = 32


@click.command("token")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(as_json: bool) -> None:
    """Print a new access token: set FENCEPOST_TOKEN to it, and give it to everybody who may sign in. It is not
    stored."""
    token = secrets.token_urlsafe(BYTES)
    click.echo(f'{{"token": "{token}"}}' if as_json else token)
