"""`fencepost failures`: the kinds of failure that are stored, new ones first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from webapp.commands import _store, _terminal
from webapp.parsing.words import counted
from webapp.store.failures import groups
from webapp.store.failures.group import Group, Groups
from webapp.store.sessions.filters import HOME, Filters
from webapp.web.api.shapes import filled


@click.command("failures")
@click.option("--new", "only_new", is_flag=True, help="Only groups first seen since --since.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Number of groups to print.")
@click.option("--json", "as_json", is_flag=True, help="Print the groups as JSON, as /api/failures does.")
@_store.filter_options
def command(only_new: bool, limit: int, as_json: bool, filters: Filters | None) -> None:
    """List failure groups under the list's filters: how many responses, since when, with which models.

    --since and --until apply to the response, as do --model, --agent, --phase, --tool and --label; every other filter
    applies to its session. Without --since, a group is new if it was first seen in the last 7 days.

    Exits with 0, with 1 when --new lists any group, with 2 when used wrongly.
    """
    narrowed = filters or Filters()
    with _store.session() as db:
        page = groups.page(db, narrowed, limit=limit, only_new=only_new, now=datetime.now(UTC))
    kind = "new failure group" if only_new else "failure group"
    _terminal.say(as_json, filled("failure_page", page), *_lines(page, narrowed, kind))
    sys.exit(1 if only_new and page.total else 0)


def _lines(page: Groups, filters: Filters, kind: str) -> Iterator[str]:
    yield f"{counted(page.total, kind)}, {_of(page)}"
    for line in page.groups:
        yield from _of_group(line)
    if page.total > len(page.groups):
        yield f"  and {page.total - len(page.groups):,} more: --limit {page.total}"
    if page.coverage.not_run:
        why = "their parser is unknown" if filters.under == HOME else f"{filters.under} was not run on them"
        yield f"  not known of {counted(page.coverage.not_run, 'response')}: {why}"


def _of(page: Groups) -> str:
    if page.coverage.run is None:
        return f"{counted(page.count, 'failed response')}; under these filters the total is not counted"
    return f"{page.count:,} of {counted(page.coverage.run, 'response')} failed"


def _of_group(line: Group) -> Iterator[str]:
    share = "" if line.share is None else f" ({line.share:.1%})"
    state = line.state if line.why is None else f"{line.state}: {line.why}"
    marks = ["new"] if line.is_new else []
    marks += [f"new in {model}" for model in line.new_models]
    marks += [state] if state != "open" else []
    marks += [f"assigned to {line.assignee}"] if line.assignee else []
    yield f"  {line.count:>8,}{share}  {line.title}{' · ' + ', '.join(marks) if marks else ''}"
    period = f"{line.first_seen:%Y-%m-%d %H:%M} to {line.last_seen:%Y-%m-%d %H:%M} UTC"
    models = ", ".join(f"{name or 'no model named'} {count:,}" for name, count in line.models[:4])
    more = f" and {line.more_models + max(0, len(line.models) - 4)} more" if line.more_models or line.models[4:] else ""
    yield f"            {counted(line.sessions, 'session')}, {period}, {models}{more}"
    yield f"            {line.key}"
