"""`fencepost ingest`: read dumps into the database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click
import sqlalchemy as sa

from webapp.commands import _found, _mappings, _report, _store
from webapp.commands._again import read_again
from webapp.commands._reading import Reader, Result
from webapp.commands._visible import visible
from webapp.commands._watching import Watch, until_stopped
from webapp.config import Settings
from webapp.dumps import known_formats
from webapp.parsing import UnknownProfile, profile

_NICER = 10


@click.command("ingest", short_help="Read dumps into the database.")
@click.option("--format", "format_name", metavar="F", help="The dumps' format; told by their content otherwise.")
@click.option(
    "--map",
    "mappings",
    metavar="FIELD=PATH",
    multiple=True,
    help="Read any JSON: raw=$.output.text …; or a saved NAME.",
)
@click.option("--save-map", "save_as", metavar="NAME", help="Save what --map says under a name, for --map NAME.")
@click.option("--home", metavar="P", help="The profile that the sessions' own program parsed with.")
@click.option("--name", metavar="NAME", help="What standard input is called, as a file would be.")
@click.option("--again", is_flag=True, help="Read kept dumps anew: all, or those whose hash or name begins with PATH.")
@click.option("--watch", is_flag=True, help="Go on reading files that are new or grow, until interrupted.")
@click.option("--every", default=1.0, show_default=True, type=click.FloatRange(0.05), help="Seconds between two looks.")
@click.option("--dry-run", is_flag=True, help="Say what is in the files; write nothing at all.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: what came of each file.")
@click.argument("paths", nargs=-1, metavar="PATH…")
def command(
    format_name: str | None,
    mappings: tuple[str, ...],
    save_as: str | None,
    home: str | None,
    name: str | None,
    again: bool,
    watch: bool,
    every: float,
    dry_run: bool,
    as_json: bool,
    paths: tuple[str, ...],
) -> None:
    """Read the dumps at each PATH (- for standard input; gzip and zstd too) into the database.

    A PATH is a file, a folder with all that is below it, or a pattern. What lies in a folder and is no dump is
    passed over. What is there already is not stored twice; sessions that came with more turns grow. Exits with 0
    when all was read, with 1 when some file could not be (the others are stored) or no dump was found, with 2
    when used wrongly. With --watch a file is read once it rests for one look, a line that is half written is left
    for later, and --json prints a document for each file that is read.
    """
    _check(format_name, home)
    _check_mappings(mappings, format_name, again, save_as, dry_run)
    _check_paths(name, paths, again=again, watch=watch, dry_run=dry_run)
    settings = _store.settings()
    mapping = _mappings.mapping(settings, mappings) if mappings else None
    _give_way()
    with _engine(settings, dry_run) as engine:
        if save_as is not None and mapping is not None and engine is not None:
            _mappings.save(engine, save_as, mapping)
        reader = Reader(engine, settings, format_name, home, not as_json, mapping)
        if watch:
            _watch(reader, paths, every, as_json)
            return
        found = read_again(reader, paths) if again else map(reader.read, _found.find(paths, name or "stdin"))
        results = list(_told(found) if not as_json else found)
    if as_json:
        _store.print_json(_report.document(results, dry_run))
    elif len(results) > 1:
        _report.table(results)
    elif not results:
        click.echo("no dump is kept here yet" if again else "no file was found", err=True)
    sys.exit(_status(results))


def _give_way() -> None:
    """Let the server go first, so that pages stay quick meanwhile; only where this process is the command."""
    if sys.argv[1:2] == ["ingest"] and hasattr(os, "nice"):
        os.nice(_NICER)


@contextmanager
def _engine(settings: Settings, dry_run: bool) -> Iterator[sa.Engine | None]:
    if dry_run:
        yield None
        return
    with _store.engine(settings) as engine:
        yield engine


def _watch(reader: Reader, paths: tuple[str, ...], every: float, as_json: bool) -> None:
    click.echo(visible(f"watching {', '.join(map(click.format_filename, paths))}; Ctrl+C stops it"), err=True)
    with until_stopped(lambda: click.echo("stopped", err=True)):
        for result in Watch(reader, paths, every).forever():
            if as_json:
                _store.print_json(_report.document([result], False))
            else:
                _report.say(result)


def _told(results: Iterable[Result]) -> Iterator[Result]:
    for result in results:
        _report.say(result)
        yield result


def _status(results: list[Result]) -> int:
    """0 where there was a dump and every one was read."""
    read = any(result.done is not None or result.seen is not None for result in results)
    return 0 if read and not any(result.error for result in results) else 1


def _check(format_name: str | None, home: str | None) -> None:
    if format_name is not None and format_name not in known_formats():
        raise click.UsageError(f"there is no format {format_name!r}; there are: {', '.join(known_formats())}")
    if home is not None:
        try:
            profile(home)
        except UnknownProfile as unknown:
            raise click.UsageError(str(unknown)) from None


def _check_mappings(
    mappings: tuple[str, ...], format_name: str | None, again: bool, save_as: str | None, dry_run: bool
) -> None:
    if mappings and (again or format_name not in (None, "mapped")):
        raise click.UsageError("--map reads new files by a mapping, without --format and --again.")
    if save_as is not None and (dry_run or not any("=" in given for given in mappings)):
        raise click.UsageError("--save-map saves what --map FIELD=PATH says, without --dry-run.")


def _check_paths(name: str | None, paths: tuple[str, ...], *, again: bool, watch: bool, dry_run: bool) -> None:
    if again and dry_run:
        raise click.UsageError("--again reads what is stored, --dry-run stores nothing: choose one.")
    if watch and (again or dry_run or "-" in paths):
        raise click.UsageError("--watch is for folders and files, without --again and --dry-run.")
    if not paths and not again:
        raise click.UsageError("Missing argument 'PATH…'.")
    if name is not None and ("-" not in paths or again):
        raise click.UsageError("--name is for standard input: give - as a PATH.")
    if paths.count("-") > 1:
        raise click.UsageError("standard input can be read once only.")
