"""`fencepost audit`: who wrote what."""

from __future__ import annotations

from typing import Any

import click

from webapp import jsontext
from webapp.commands import _store, _terminal
from webapp.store.accounts import audit
from webapp.store.models import AuditEntry


@click.command("audit")
@click.option("--by", metavar="NAME", help="Only of this account.")
@click.option(
    "--limit",
    default=100,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Number of lines, the newest first.",
)
@click.option("--before", type=click.IntRange(1, 2**63 - 1), metavar="NUMBER", help="Only lines before this number.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(by: str | None, limit: int, before: int | None, as_json: bool) -> None:
    """List the audit log, the newest first: when, who, how they signed in, from where, what they did and to what.

    Pages and the API write it if a login is required, and so does `fencepost user`. An unknown outcome means that the
    server was killed during the action.
    """
    with _store.engine(_store.settings()) as engine, engine.connect() as connection:
        lines = audit.page(connection, before=before, author=by, limit=limit)
    entries = [_as_dict(line) for line in lines]
    nothing = "nothing is recorded" + (f" of {by}" if by else "") + (" before that" if before else " yet")
    _terminal.say(as_json, {"entries": entries}, *(map(_words, lines) if lines else [nothing]))


def _as_dict(line: AuditEntry) -> dict[str, Any]:
    return {column.name: getattr(line, column.name) for column in line.__table__.columns} | {"outcome": line.outcome}


def _words(line: AuditEntry) -> tuple[str, ...]:
    who = f"{line.author or 'no name given'} ({line.via or 'signing in'}, {line.peer})"
    detail = f" {jsontext.dumps(line.detail)}" if line.detail else ""
    return str(line.id), f"{line.at:%Y-%m-%d %H:%M:%S}", who, line.act, f"{line.object}{detail}", line.outcome
