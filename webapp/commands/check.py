"""`fencepost check`: the gate, a parser over labelled responses against a committed baseline."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from sqlalchemy import orm

from webapp.commands import _store, _terminal
from webapp.commands._arguments import PROFILE, refuse, runnable
from webapp.exports import base
from webapp.exports.base import SPLITS
from webapp.gate import checking, reports, samples
from webapp.gate.checking import KINDS, Report, SampleChange, as_dict
from webapp.gate.samples import Sample
from webapp.parsing.words import counted
from webapp.store.exports import exporting
from webapp.store.models import Session, Turn, is_response
from webapp.store.sessions import responses, turn_facts
from webapp.store.sessions.filters import Filters
from webapp.visible import first

BASELINE = "fencepost-baseline.jsonl"
MOST_LINES = 20


@click.command("check")
@click.option("--profile", "name", type=PROFILE, metavar="P", help="The profile, or module:function.")
@click.option("--baseline", type=click.Path(path_type=Path), default=BASELINE, show_default=True, metavar="FILE")
@click.option(
    "--labels", "labels", type=click.Path(path_type=Path), metavar="FILE", help="Cases, or an export of labels."
)
@click.option("--database", metavar="URL", help="Check labelled responses of this database [FENCEPOST_DATABASE].")
@click.option("--split", type=click.Choice(SPLITS), help="Only one half of the responses: tune on dev, gate on test.")
@click.option("--strict", is_flag=True, help="Also fail when a value without a label changed.")
@click.option("--update", is_flag=True, help="Rewrite the baseline, unless there is a regression.")
@click.option("--allow", type=click.Path(path_type=Path), metavar="FILE", help='Regressions allowed: {"id", "reason"}.')
@click.option("-o", "outputs", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help=".json, .xml, .md")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@_store.filter_options
def command(
    name: str | None,
    baseline: Path,
    labels: Path | None,
    database: str | None,
    split: str | None,
    strict: bool,
    update: bool,
    allow: Path | None,
    outputs: tuple[Path, ...],
    as_json: bool,
    filters: Filters | None,
) -> None:
    """Run a parser over labelled responses, and compare the results with the committed baseline.

    The first run writes the baseline and exits with 1: review and commit it. A response that the parser reads worse
    than before, judged by its final label, is a regression and fails the check, unless --allow lists it with a reason.
    With a database, all labelled responses are checked, or with filters those that match, labelled or not.
    With --contract instead of a parser, it fails where a response breaks what its request declares.

    Exits with 0 when passed, with 1 when failed or when the parser cannot be run, with 2 when used wrongly or when
    baseline and responses do not match.
    """
    if name is None and filters and filters.contract and labels is None:
        sys.exit(_check_contracts(database, filters, as_json))
    refuse(name is None, "name a parser with --profile, or hold calls against their requests with --contract")
    for path in outputs:
        refuse(path.suffix not in reports.FORMS, f"-o takes {', '.join(reports.FORMS)}, not {path.name!r}")
    both = labels is not None and (database is not None or filters is not None)
    refuse(both, "--labels is a file: --database and filters are not for it")
    profile = runnable(name or "")
    allowed = {} if allow is None else checking.read_allowed(allow)
    sample = _of_file(labels) if labels else _of_database(database, filters)
    options: dict[str, Any] = {"strict": strict, "split": split, "update": update}
    report = checking.run(sample, profile, baseline, allowed=allowed, **options)
    for path in outputs:
        path.write_text(reports.FORMS[path.suffix](report), encoding="utf-8", errors="backslashreplace")
    _tell(report, baseline, as_json)
    sys.exit(report.exit_code)


def _of_file(path: Path) -> list[Sample]:
    """The cases of a file, or the labels of an export. Raises `BadLines`, `OSError`."""
    with path.open("rb") as file:
        return samples.read(file, str(path))


def _of_database(url: str | None, chosen: Filters | None) -> list[Sample]:
    """The labelled responses, or all under the filters."""
    with _store.session(url) as db:
        if chosen is None:
            return samples.read(exporting.labels(db, "gate", scope="all labels"), "the database")
        blocks = responses.turn_ids(db, responses.view_of(db, chosen), is_response)
        found = exporting.of_turns(db, [turn_id for ids in blocks for turn_id in ids])
        return samples.read(base.find("gate", "labels").pieces(found, exporting.about("", None)), "the database")


def _check_contracts(url: str | None, chosen: Filters, as_json: bool) -> int:
    """Tell the responses in view that break their contract, the first in full; 1 where there are some, else 0."""
    with _store.session(url) as db:
        blocks = responses.turn_ids(db, responses.view_of(db, chosen))
        broken = [_broken(db, turn_id) for ids in blocks for turn_id in ids]
        looked_at, held, kept = (_counted(db, replace(chosen, contract=state)) for state in (None, "broken", "kept"))
    states = dict(Counter(str(item["contract"]["state"]) for item in broken))
    if not looked_at:
        raise click.ClickException("no response is in view, so none was held against its contract")
    _terminal.say(
        as_json,
        {"broken": len(broken), "kept": kept, "of": looked_at, "states": states, "responses": broken},
        *first(broken, MOST_LINES, _broken_words, "and {} more (--json has all)"),
        ", ".join(f"{count:,} {state}" for state, count in states.items()) or "no response breaks its contract",
        f"{held + kept:,} of {counted(looked_at, 'response')} held against a contract",
    )
    return int(bool(broken))


def _broken_words(item: dict[str, Any]) -> str:
    contract = item["contract"]
    message = next((mismatch["message"] for mismatch in contract["mismatches"]), "")
    tool = f" {contract['tool']}" if contract["tool"] else ""
    return f"✕ {item['session']} turn {item['position']}{tool}: {contract['state']}: {message}"


def _counted(db: orm.Session, filters: Filters) -> int:
    return responses.count(db, responses.view_of(db, filters))[0]


def _broken(db: orm.Session, turn_id: int) -> dict[str, Any]:
    turn = db.get_one(Turn, turn_id)
    session = db.get_one(Session, turn.session_id)
    contract = turn_facts.contract_of(db, turn)
    return {"session": session.external_id, "key": session.key, "position": turn.position, "contract": contract}


def _tell(report: Report, baseline: Path, as_json: bool) -> None:
    """The report on standard output, and where a workflow's runner is, in its summary and as its error lines."""
    _terminal.say(as_json, as_dict(report), *_lines(report, baseline))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(reports.to_markdown(report))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in reports.error_lines(report):
            click.echo(line, err=as_json)


def _lines(report: Report, baseline: Path) -> Iterator[str]:
    split, more = f", split {report.split}" if report.split else "", "and {} more; -o report.json has them all"
    yield f"{report.profile} {report.version}: {report.checked:,} responses, {report.labelled:,} labelled{split}"
    for kind, words in KINDS.items():
        if changes := report.of(kind):
            yield ""
            yield f"{kind} {len(changes):,}: {words}"
            yield from first(changes, MOST_LINES, _changed_words, f"  {more}")
    for ident in report.unused:
        yield ""
        yield f"allowed, and not needed any more: {ident}"
    if report.written:
        yield ""
        yield f"baseline {report.written}: {baseline}"
    yield from first(report.reasons, MOST_LINES, str, more)
    yield report.verdict


def _changed_words(change: SampleChange) -> str:
    return f"  {change.sample.id}: {reports.sentence(change)}"
