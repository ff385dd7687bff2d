"""`fencepost prune`: remove old sessions for good."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click
import sqlalchemy as sa

from webapp.commands import _arguments, _store, _terminal
from webapp.parsing.words import counted
from webapp.store.jobs import pruning
from webapp.visible import filesize

AGE = _arguments.TimeAgo("hdw")  # no minutes: 3m would be taken for months


@click.command("prune")
@click.option(
    "--older-than", "before", type=AGE, required=True, metavar="AGE", help="90d, 12w or 36h without a new turn."
)
@click.option(
    "--keep",
    multiple=True,
    type=click.Choice(("labelled", "failed")),
    help="Keep these too; labelled sessions are always kept.",
)
@click.option("--dry-run", is_flag=True, help="Count what would be removed; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def command(before: datetime, keep: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove sessions without a new turn for AGE, with their traces and search entries. This cannot be undone.

    A session with a label, or with a history of labels, is never removed. The stored file of a log is removed with its
    last session. If interrupted, run the same command again. The database file keeps its size and reuses the space.

    Exits with 0 when done, with 1 when you answer no, with 2 when used wrongly.
    """
    settings = _store.settings()
    keep_failed = "failed" in keep
    with _store.engine(settings) as engine:
        with engine.connect() as connection:
            counts = pruning.prunable(connection, before, keep_failed=keep_failed)
        if dry_run:
            _terminal.say(as_json, {"dry_run": True, "counts": counts}, _plan(counts))
            return
        if not yes:
            question = f"{_plan(counts)}\nRemove them for good?"
            _terminal.confirm(question, "use --yes, or --dry-run to see what would be removed")
        pruned = pruning.prune(engine, settings, before, keep_failed=keep_failed)
    _terminal.say(as_json, {"dry_run": False, "counts": counts, "pruned": pruned}, _said(pruned))


def _plan(counts: sa.Row[Any]) -> str:
    stay = [counted(counts.labelled, "labelled session")]
    if counts.failed:
        stay.append(counted(counts.failed, "failed session"))
    return (
        f"{counted(counts.sessions, 'session')} with {counted(counts.turns, 'turn')}"
        f" ({filesize(counts.raw_bytes)} of text) would go; of that age {' and '.join(stay)} would stay"
    )


def _said(pruned: pruning.Pruned) -> str:
    words = f"{counted(pruned.sessions, 'session')} removed"
    words += f", and {counted(pruned.files, 'kept log file')} ({filesize(pruned.file_bytes)})"
    if pruned.left:
        words += f"; {counted(pruned.left, 'session')} hidden, not removed: labelled in the meantime"
    return words
