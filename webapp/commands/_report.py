"""What `fencepost ingest` says: a line a file with its problems, a table of all files, or one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from webapp.commands._reading import Result, Seen
from webapp.commands._visible import visible
from webapp.commands._words import counted
from webapp.store.ingest import Ingested

MOST_SHOWN = 10
"""problems of one file printed word for word"""
MOST_ROWS = 200
"""files in the table"""
_STORED = ("dump", "sessions", "keys", "problems", "created", "new", "grown", "new_turns")
_SEEN = ("format", "bytes", "sessions", "turns", "problems", "problem_count")


def say(result: Result) -> None:
    """A line for the file, then its first problems."""
    if result.skipped is not None:
        click.echo(visible(f"– {result.file}: passed over. {result.skipped}"), err=True)
        return
    if result.error is not None:
        at = f" (at {result.error['at']})" if result.error.get("at") else ""
        click.echo(visible(f"✕ {result.file}: {result.error.get('message')}{at}"), err=True)
        return
    new = result.seen is not None or (result.done is not None and result.done.created)
    click.echo(visible(f"{'●' if new else '·'} {result.file}: {_summary(result)}"))
    problems = (result.done or result.seen or _NOTHING).problems
    for problem in problems[:MOST_SHOWN]:
        click.echo(visible(f"  {problem.at}: {problem.reason}"), err=True)
    if (more := problems_of(result) - MOST_SHOWN) > 0:
        click.echo(f"  and {counted(more, 'problem')} more", err=True)


_NOTHING = Seen("", 0)


def problems_of(result: Result) -> int:
    """How many problems the file has, those not kept word for word included."""
    if result.done is not None:
        return result.done.dump.problem_count
    return result.seen.problem_count if result.seen is not None else 0


def _summary(result: Result) -> str:
    """For example `windlass, 3 sessions (1 new, 1 grown), 40 new turns, 2 problems`."""
    parts = _of_done(result.done) if result.done is not None else _of_seen(result.seen or _NOTHING)
    if count := problems_of(result):
        parts.append(counted(count, "problem"))
    return ", ".join(parts)


def _of_done(done: Ingested) -> list[str]:
    parts = [done.dump.format or "unknown format", counted(len(done.sessions), "session")]
    if not done.created:
        return [*parts, "all there already"]
    kinds = ((done.new, "new"), (done.grown, "grown"))
    parts[1] += f" ({', '.join(f'{number} {kind}' for number, kind in kinds if number)})"
    return [*parts, counted(done.new_turns, "new turn")]


def _of_seen(seen: Seen) -> list[str]:
    return [seen.format, counted(len(seen.sessions), "session"), counted(seen.turns, "turn")]


def table(results: Sequence[Result]) -> None:
    """One row a file that is a dump, then how many were read, passed over, and could not be read."""
    from rich.console import Console
    from rich.table import Table

    rows = [result for result in results if result.skipped is None]
    drawn = Table("file", "format", title=None, box=None, pad_edge=False)
    dry = any(result.seen is not None for result in rows)
    for name in ("sessions", "turns" if dry else "new turns", "problems"):
        drawn.add_column(name, justify="right")
    for result in rows[:MOST_ROWS]:
        drawn.add_row(visible(result.file), *_cells(result))
    click.echo()
    if rows:
        Console(markup=False, highlight=False).print(drawn)
    if len(rows) > MOST_ROWS:
        click.echo(f"and {counted(len(rows) - MOST_ROWS, 'file')} more")
    click.echo(_total(results))


def _cells(result: Result) -> tuple[str, ...]:
    if result.error is not None:
        return ("could not be read", "", "", "")
    format_name, numbers = "", (0, 0, problems_of(result))
    if result.done is not None:
        format_name = result.done.dump.format or ""
        numbers = (len(result.done.sessions), result.done.new_turns, numbers[2])
    elif result.seen is not None:
        format_name = result.seen.format
        numbers = (len(result.seen.sessions), result.seen.turns, numbers[2])
    return (format_name, *(f"{number:,}" for number in numbers))


def _total(results: Sequence[Result]) -> str:
    """For example `3 files read, 1 passed over, 1 could not be read`."""
    failed = sum(result.error is not None for result in results)
    skipped = sum(result.skipped is not None for result in results)
    parts = [f"{counted(len(results) - failed - skipped, 'file')} read"]
    parts += [f"{skipped:,} passed over"] if skipped else []
    return ", ".join([*parts, *([f"{failed:,} could not be read"] if failed else [])])


def document(results: Sequence[Result], dry_run: bool) -> dict[str, Any]:
    """What came of each file, as `--json` prints it."""
    return {
        "dry_run": dry_run,
        "files": [_file(result) for result in results if result.skipped is None],
        "skipped": [{"file": result.file, "reason": result.skipped} for result in results if result.skipped],
    }


def _file(result: Result) -> dict[str, Any]:
    about: dict[str, Any] = {"file": result.file, "error": result.error}
    if result.done is not None:
        return {**about, **{name: getattr(result.done, name) for name in _STORED}}
    if result.seen is not None:
        return {**about, **{name: getattr(result.seen, name) for name in _SEEN}}
    return about
