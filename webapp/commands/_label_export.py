"""`fencepost label export`: labelled responses in a format of your choice."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import parse_qsl

import click
from sqlalchemy import orm

from webapp.commands import _export, _store
from webapp.exports import base
from webapp.exports.labelled import left_out_sentence
from webapp.store.exports import exporting
from webapp.store.labels.queues.queue_spec import spec_of
from webapp.store.sessions import filters as filtering
from webapp.store.sessions import sessions


@click.command("export", short_help="Write labelled responses as JSONL, CSV, pytest and more.")
@click.option(
    "--format", "name", default="jsonl", show_default=True, metavar="F", help="jsonl, csv, parquet, pytest, cases …"
)
@click.option("--session", "idents", multiple=True, metavar="ID", help="Only of this session. Repeatable.")
@click.option("--queue", metavar="Q", help="Only of a queue of /labels: failed, disagree, 'sample&size=100&seed=1' …")
@click.option(
    "--filter", "filter_", metavar="QUERY", help="Only of sessions under the list's filters: 'model=m&verdict=failed'."
)
@click.option("--list", "list_formats", is_flag=True, help="List the formats and what each is for.")
@_export.redaction_options
def command(
    name: str,
    idents: tuple[str, ...],
    queue: str | None,
    filter_: str | None,
    list_formats: bool,
    keys: tuple[str, ...],
    patterns: tuple[str, ...],
    secrets: bool,
) -> None:
    """Print labelled responses to standard output: fencepost label export --format pytest > test_responses.py

    Includes author, time, note and history. The formats pytest, cases, few-shot and fine-tuning leave out labels
    without an expected value; their number is shown at the end. Exits with 0 when done, with 1 when a session does not
    exist, with 2 when used wrongly.
    """
    if list_formats:
        for format_name, words in base.described("labels"):
            click.echo(f"{format_name:<12} {words}")
        return
    if sum(map(bool, (idents, queue, filter_))) > 1:
        raise click.UsageError("give only one of --session, --queue and --filter")
    redactor = _export.asked(keys, patterns, secrets)
    with _store.session() as db:
        scope, only = _scope(db, idents, queue, filter_)
        left_out: Counter[str] = Counter()
        _export.write(exporting.labels(db, name, scope=scope, redactor=redactor, left_out=left_out, **only))
    if left_out:
        click.echo(left_out_sentence(left_out), err=True)


def _scope(
    db: orm.Session, idents: tuple[str, ...], queue: str | None, filter_: str | None
) -> tuple[str, dict[str, Any]]:
    """What goes out, in words and as `exporting.labels` takes it; raises `BadFilter` and `NoSuchSession`."""
    if queue:
        spec = spec_of(dict(parse_qsl(f"queue={queue}")))
        return f"labels of the queue: {spec.words}", {"turn_ids": exporting.of_queue(db, spec)}
    if filter_:
        filters = filtering.of_parameters(dict(parse_qsl(filter_)))
        return f"labels of sessions with {filter_}", {"sessions": exporting.of_filters(db, filters)}
    if idents:
        return f"labels of {', '.join(idents)}", {"sessions": [sessions.find(db, ident).id for ident in idents]}
    return "all labels", {}
