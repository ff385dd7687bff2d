"""`fencepost ingest`: read dumps into the database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
import sqlalchemy as sa

from webapp.commands import _store
from webapp.commands._input import open_bytes
from webapp.commands._visible import visible
from webapp.commands._words import counted
from webapp.config import Settings
from webapp.dumps import BadDump, UnknownFormat, known_formats
from webapp.parsing import UnknownProfile, profile
from webapp.store.ingest import Ingested, describe, ingest

MOST_SHOWN = 10
"""problems of one file printed word for word"""


@dataclass(frozen=True, slots=True)
class Result:
    """One file: what came of it, or the error (code, message, at) that ended it."""

    file: str
    done: Ingested | None = None
    error: dict[str, str | None] | None = None


@click.command("ingest", short_help="Read dumps into the database.")
@click.option("--format", "format_name", metavar="F", help="The dumps' format; told by their content otherwise.")
@click.option("--home", metavar="P", help="The profile that the sessions' own program parsed with.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: what came of each file.")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
def command(format_name: str | None, home: str | None, as_json: bool, files: tuple[str, ...]) -> None:
    """Read the dumps in each FILE (- for standard input; gzip and zstd too) into the database.

    What is there already is not stored twice; sessions that came with more turns grow. Exits with 0 when all
    was read, with 1 when some file could not be (the others are stored), with 2 when used wrongly.
    """
    _check(format_name, home)
    settings = _store.settings()
    results = []
    with _store.engine(settings) as engine:
        for file in files:
            results.append(_one(engine, settings, file, format_name, home, show=not as_json))
            if not as_json:
                _say(results[-1])
    if as_json:
        _store.print_json({"files": [_document(result) for result in results]})
    elif len(files) > 1:
        _table(results)
    sys.exit(1 if any(result.error for result in results) else 0)


def _check(format_name: str | None, home: str | None) -> None:
    if format_name is not None and format_name not in known_formats():
        raise click.UsageError(f"there is no format {format_name!r}; there are: {', '.join(known_formats())}")
    if home is not None:
        try:
            profile(home)
        except UnknownProfile as unknown:
            raise click.UsageError(str(unknown)) from None


def _one(
    engine: sa.Engine, settings: Settings, file: str, format_name: str | None, home: str | None, show: bool
) -> Result:
    name = "standard input" if file == "-" else click.format_filename(file)
    try:
        with open_bytes(file) as stream, _progress(name, show) as progress:
            filename = "stdin" if file == "-" else name.replace("\\", "/").rpartition("/")[2]
            options = {"format": format_name, "home": home}
            return Result(name, ingest(engine, settings, stream, filename=filename, progress=progress, **options))
    except (BadDump, UnknownFormat) as error:
        return Result(name, error=describe(error))
    except click.UsageError as error:
        return Result(name, error={"code": "unreadable", "message": error.message, "at": None})
    except OSError as error:
        return Result(name, error={"code": "unreadable", "message": str(error), "at": None})


@contextmanager
def _progress(name: str, show: bool) -> Iterator[Callable[[int], None] | None]:
    """A line that counts turns, where standard error is a terminal."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    shown = escape(visible(name))
    with Console(stderr=True).status(f"{shown}: reading") as status:
        yield lambda turns: status.update(f"{shown}: {counted(turns, 'turn')} read")


def _say(result: Result) -> None:
    """A line for the file, then its first problems."""
    if result.done is None:
        error = result.error or {}
        at = f" (at {error['at']})" if error.get("at") else ""
        click.echo(visible(f"✕ {result.file}: {error.get('message')}{at}"), err=True)
        return
    click.echo(visible(f"{'●' if result.done.created else '·'} {result.file}: {_summary(result.done)}"))
    for problem in result.done.problems[:MOST_SHOWN]:
        click.echo(visible(f"  {problem.at}: {problem.reason}"), err=True)
    if (more := result.done.dump.problem_count - MOST_SHOWN) > 0:
        click.echo(f"  and {counted(more, 'problem')} more", err=True)


def _summary(done: Ingested) -> str:
    """For example `windlass, 3 sessions (1 new, 1 grown), 40 new turns, 2 problems`."""
    parts = [done.dump.format or "unknown format", counted(len(done.sessions), "session")]
    if done.created:
        kinds = ((done.new, "new"), (done.grown, "grown"))
        parts[1] += f" ({', '.join(f'{number} {kind}' for number, kind in kinds if number)})"
        parts.append(counted(done.new_turns, "new turn"))
    else:
        parts.append("all there already")
    if done.dump.problem_count:
        parts.append(counted(done.dump.problem_count, "problem"))
    return ", ".join(parts)


def _table(results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("file", "format", title=None, box=None, pad_edge=False)
    for name in ("sessions", "new turns", "problems"):
        table.add_column(name, justify="right")
    for result in results:
        if result.done is None:
            table.add_row(visible(result.file), "could not be read", "", "", "")
            continue
        done = result.done
        numbers = (len(done.sessions), done.new_turns, done.dump.problem_count)
        table.add_row(visible(result.file), done.dump.format, *(f"{number:,}" for number in numbers))
    click.echo()
    Console(markup=False, highlight=False).print(table)


def _document(result: Result) -> dict[str, object]:
    if result.done is None:
        return {"file": result.file, "error": result.error}
    done = result.done
    names = ("dump", "sessions", "keys", "problems", "created", "new", "grown", "new_turns")
    return {"file": result.file, "error": None, **{name: getattr(done, name) for name in names}}
