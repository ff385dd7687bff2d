"""`fencepost user`: accounts and their API tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import sqlalchemy as sa

from webapp.commands import _store, _terminal
from webapp.parsing.words import counted
from webapp.store.accounts import accounts, api_tokens, audit
from webapp.store.labels.label_content import system_user
from webapp.store.models import AuditEntry

OFF = "accounts are not required yet: set FENCEPOST_ACCOUNTS=1 for the server"
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
role_type = click.Choice(tuple(accounts.ROLES))


@click.group("user")
def command() -> None:
    """Accounts: who may sign in, and what they may do.

    A reader sees everything; a labeler also labels and runs profiles; an admin also imports, deletes and
    manages accounts. Passwords are asked for on the terminal, or read from standard input where there is none.
    """


@contextmanager
def _changing(act: str, of: str, **detail: Any) -> Iterator[sa.Connection]:
    """A transaction with a line in the audit log."""
    settings = _store.settings()
    with _store.engine(settings) as engine, engine.begin() as connection:
        yield connection
        who = {"author": system_user(), "via": "command", "peer": "this machine"}
        audit.begin(connection, AuditEntry(**who, act=act, object=of, detail=detail or None), status=0)
    if not settings.accounts:
        click.echo(OFF, err=True)


def _password() -> str:
    """Asked twice on a terminal; else the first line of standard input."""
    if sys.stdin.isatty():
        answer: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return answer
    return sys.stdin.readline().rstrip("\r\n")


@command.command("add", short_help="Create an account.")
@click.argument("name")
@click.option("--role", type=role_type, default="labeler", show_default=True, help="What they may do.")
@click.option("--no-password", is_flag=True, help="For people who sign in by the proxy, or with API tokens only.")
@click.option("--subject", metavar="SUBJECT", help="“ISSUER SUBJECT” of a person who signs in by OpenID; no password.")
@as_json_option
def add(name: str, role: str, no_password: bool, subject: str | None, as_json: bool) -> None:
    """Create the account NAME, which is also the author of its labels."""
    password = None if no_password or subject else _password()
    with _changing("user add", name, role=role) as connection:
        accounts.add(connection, name, role, password=password, subject=subject)
        line = accounts.find(connection, name)
    _terminal.say(as_json, line, f"{line.name} may sign in as {line.role}")


@command.command("list", short_help="List accounts.")
@as_json_option
def list_accounts(as_json: bool) -> None:
    """List accounts: role, how they sign in, when they last did."""
    with _store.engine(_store.settings()) as engine, engine.connect() as connection:
        lines = accounts.lines(connection)
    nothing = "there is no account yet: fencepost user add NAME --role admin"
    _terminal.say(as_json, {"accounts": lines}, *(map(_words, lines) if lines else [nothing]))


def _words(line: sa.Row[Any]) -> tuple[str, ...]:
    ways = ["password"] * line.has_password + ["OpenID"] * bool(line.subject)
    last = f"signed in {line.signed_in_at:%Y-%m-%d %H:%M} UTC" if line.signed_in_at else "never signed in"
    how = " and ".join(ways) or "no password"
    return line.name, line.role, how, counted(line.tokens, "API token"), last


@command.command("role", short_help="Set another role.")
@click.argument("name")
@click.argument("role", type=role_type)
@as_json_option
def role(name: str, role: str, as_json: bool) -> None:
    """Set the role of NAME, from the next request on."""
    with _changing("user role", name, role=role) as connection:
        line = accounts.find(connection, name)
        accounts.set_role(connection, line.id, role)
    answer = {"name": line.name, "role": role}
    _terminal.say(as_json, answer, f"{line.name} is {role}, was {line.role}")


@command.command("password", short_help="Set another password.")
@click.argument("name")
@as_json_option
def password(name: str, as_json: bool) -> None:
    """Set another password for NAME; everybody signed in to the account must sign in again."""
    with _store.engine(_store.settings()) as engine, engine.connect() as connection:
        accounts.find(connection, name)
    words = _password()
    with _changing("user password", name) as connection:
        line = accounts.find(connection, name)
        accounts.set_password(connection, line.id, words)
    _terminal.say(as_json, {"name": line.name}, f"{line.name} has another password")


@command.command("remove", short_help="Remove an account.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal.")
@as_json_option
def remove(name: str, yes: bool, as_json: bool) -> None:
    """Remove NAME with its API tokens, at once. Its labels and its lines of the audit log stay."""
    if not yes:
        _terminal.confirm(f"Remove the account {name}?")
    with _changing("user remove", name) as connection:
        line = accounts.find(connection, name)
        accounts.remove(connection, line.id)
    _terminal.say(as_json, {"removed": line.name}, f"{line.name} is removed")


@command.command("token", short_help="Create an API token.")
@click.argument("name")
@click.argument("title")
@click.option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice(tuple(accounts.RIGHTS)), help="Repeat."
)
@as_json_option
def token(name: str, title: str, scopes: tuple[str, ...], as_json: bool) -> None:
    """Create an API token of the account NAME, called TITLE, and print it. It is shown only once."""
    with _changing("user token", name, title=title, scopes=list(scopes)) as connection:
        line = accounts.find(connection, name)
        new_token = api_tokens.make(connection, line.id, title, list(scopes))
    _terminal.say(as_json, {"account": line.name, "name": title, "token": new_token}, new_token)


@command.command("tokens", short_help="List API tokens.")
@click.argument("name", required=False)
@as_json_option
def tokens(name: str | None, as_json: bool) -> None:
    """List the API tokens of NAME, or of everybody: number, scopes, when they were last used."""
    with _store.engine(_store.settings()) as engine, engine.connect() as connection:
        of = accounts.find(connection, name).id if name is not None else None
        lines = api_tokens.lines(connection, of)
    _terminal.say(as_json, {"tokens": lines}, *(map(_token_words, lines) if lines else ["there is no API token"]))


def _token_words(line: api_tokens.TokenLine) -> tuple[str, ...]:
    last = f"used {line.used_at:%Y-%m-%d %H:%M} UTC" if line.used_at else "never used"
    return str(line.id), line.account, line.name, " ".join(line.scopes), last


@command.command("revoke", short_help="Revoke an API token.")
@click.argument("number", type=int)
@as_json_option
def revoke(number: int, as_json: bool) -> None:
    """Revoke the API token NUMBER, at once (`fencepost user tokens` lists them)."""
    with _changing("user revoke", f"API token {number}") as connection:
        api_tokens.revoke(connection, number)
    _terminal.say(as_json, {"revoked": number}, f"API token {number} is revoked")
