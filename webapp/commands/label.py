"""`fencepost label`: judge a response, list the labels, take exported ones back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import parse_qsl

import click

from webapp import jsontext
from webapp.commands import _arguments, _store, _terminal
from webapp.commands._arguments import refuse
from webapp.exports import base
from webapp.exports.base import left_out_sentence
from webapp.exports.redaction import Redactor
from webapp.store.exports import exporting
from webapp.store.labels import importing, label_content, label_list, labels
from webapp.store.labels.queue import to_export
from webapp.store.labels.queue_spec import spec_of
from webapp.store.models import Label
from webapp.store.sessions import filters as filtering
from webapp.store.sessions import turns
from webapp.visible import clipped


class PutOrList(click.Group):
    """`label ID POSITION JUDGEMENT` is short for `label put ID POSITION JUDGEMENT`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["put", *args]
        return super().parse_args(ctx, args)


@click.group("label", cls=PutOrList)
def command() -> None:
    """Label a response (fencepost label ID POSITION JUDGEMENT), or list the labels.

    Exits with 0 when done, with 1 when there is no such response or the label is refused, with 2 when used wrongly.
    """


@command.command("export", short_help="Write labelled responses as JSONL, CSV, pytest and more.")
@click.option(
    "--format", "name", default="jsonl", show_default=True, metavar="F", help="jsonl, csv, parquet, pytest, cases …"
)
@click.option("--session", "idents", multiple=True, metavar="ID", help="Only of this session. Repeatable.")
@click.option("--queue", metavar="Q", help="Only of a queue of /labels: failed, disagree, 'sample&size=100&seed=1' …")
@click.option(
    "--filter", "filter_", metavar="QUERY", help="Only of sessions under the list's filters: 'model=m&verdict=failed'."
)
@click.option("--list", "list_formats", is_flag=True, help="List the formats and what each is for.")
@_arguments.redaction_options
def export(
    name: str,
    idents: tuple[str, ...],
    queue: str | None,
    filter_: str | None,
    list_formats: bool,
    redactor: Redactor | None,
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
    refuse(sum(map(bool, (idents, queue, filter_))) > 1, "give only one of --session, --queue and --filter")
    with _store.session() as db:
        spec = spec_of(dict(parse_qsl(f"queue={queue}"))) if queue else None
        filters = filtering.of_parameters(dict(parse_qsl(filter_))) if filter_ else None
        scope, only = to_export(db, spec) if spec else exporting.chosen(db, idents, filters)
        left_out: Counter[str] = Counter()
        _store.print_pieces(exporting.labels(db, name, scope=scope, redactor=redactor, left_out=left_out, **only))
    if left_out:
        click.echo(left_out_sentence(left_out), err=True)


@command.command("put")
@click.option("--cause", metavar="C", help="Why it did not parse, in one or two words.")
@click.option("--note", metavar="TEXT")
@click.option("--expected", metavar="JSON", help="The value that the model meant.")
@click.option("--author", metavar="NAME", help="Your name; the system's user unless given.")
@click.option("--json", "as_json", is_flag=True, help="Print the label as JSON.")
@click.argument("ident", metavar="ID")
@click.argument("position", type=click.IntRange(min=0))
@click.argument("judgement", type=click.Choice(list(label_content.JUDGEMENTS)))
def put(
    ident: str,
    position: int,
    judgement: str,
    cause: str | None,
    note: str | None,
    expected: str | None,
    author: str | None,
    as_json: bool,
) -> None:
    """Judge the response at POSITION of the session ID."""
    who = author or label_content.system_user()
    values: dict[str, Any] = {"judgement": judgement, "cause": cause, "note": note, "author": who}
    values |= {"expected": _value(expected), "has_expected": expected is not None}
    with _store.session() as db:
        detail = turns.find_by_id(db, ident, position)
        label = labels.put(db, detail.turn, **values)
        ident = detail.session.external_id
        words = f"{ident} {position}: {label.judgement}, said {label.author}"
        _terminal.say(as_json, {"session": ident, "position": position, **_document(label)}, words)


@command.command("list", short_help="List the labels, the newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print all labels as one JSON list, for `label import`.")
def list_(as_json: bool) -> None:
    """List the labels, the newest first; with --json in the order of the responses."""
    after: str | None = ""
    with _store.session() as db:
        if as_json:
            _terminal.print_json(list(exporting.label_rows(db)))
            return
        while after is not None:
            batch, after = label_list.page(db, after=after or None, limit=500)
            for line in batch:
                said = (line.label.judgement, line.label.cause, line.label.note, line.label.author)
                facts = " · ".join(text for text in said if text)
                _terminal.put(f"{line.session.external_id} {line.position}: {clipped(facts, 200)}")


@command.command("import", short_help="Import labels from a file.")
@click.option("--json", "as_json", is_flag=True, help="Print the result for each row as JSON.")
@click.argument("file", type=click.File("rb"))
def import_(file: BinaryIO, as_json: bool) -> None:
    """Import labels from FILE (- for standard input): JSON lines, or the list that `label list --json` prints.

    Finds each response by its text in the session with that id, else by its text anywhere; importing the same file
    twice changes nothing. Exits with 1 when a row matches no response, and names its line.
    """
    problems: list[tuple[int, str]] = []
    with _store.session() as db:
        imported = importing.take(db, _numbered(file, problems))
    problems = sorted([*problems, *imported.problems])
    rejected = [{"line": line, "reason": reason} for line, reason in problems]
    document = {"new": imported.new, "changed": imported.changed, "same": imported.same, "problems": rejected}
    words = f"{imported.new} new, {imported.changed} changed, {imported.same} as they were"
    _terminal.say(as_json, document, words, errors=[f"line {line}: {reason}" for line, reason in problems])
    if problems:
        raise SystemExit(1)


def _numbered(file: BinaryIO, problems: list[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows with their lines; of a JSON list that stands on one line, the number of each item."""
    for number, line in enumerate(file, 1):
        text = line.strip()
        if not text:
            continue
        try:
            value = jsontext.unmarked(jsontext.loads(text.decode("utf-8", "surrogatepass")))
        except (ValueError, RecursionError) as error:
            problems.append((number, f"not JSON: {error}"))
            continue
        for item, row in enumerate(value, 1) if isinstance(value, list) else [(number, value)]:
            if isinstance(row, dict):
                yield item, row
            else:
                problems.append((item, "not a JSON object"))


def _document(label: Label) -> dict[str, Any]:
    names = ("author", "judgement", "cause", "note", "has_expected", "expected", "made_at")
    return {name: getattr(label, name) for name in names}


def _value(expected: str | None) -> Any:
    if expected is None:
        return None
    try:
        return jsontext.loads(expected)
    except (ValueError, RecursionError) as error:  # ValueError: a number of more digits than Python reads
        raise click.UsageError(f"--expected takes JSON: {error}") from None
