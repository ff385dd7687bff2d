"""`fencepost ingest`: read dumps into the database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa

from webapp.commands import _arguments, _ingest_report, _store, _terminal
from webapp.commands._arguments import refuse
from webapp.commands._file_reader import FileReader, FileResult, read_again
from webapp.commands._folder_watch import FolderWatch
from webapp.commands._start import stopped_by_signals
from webapp.commands.home import after_ingest
from webapp.config import Settings
from webapp.dumps.mappings import paths_of
from webapp.dumps.messages.declarations import read_tools
from webapp.dumps.reading import known_formats
from webapp.dumps.session_keys import OPTION
from webapp.parsing import profile, refuse_absent
from webapp.parsing.words import counted
from webapp.store.ingest import start
from webapp.store.jobs import mappings as saved_mappings

_NICER = 10


@click.command("ingest")
@click.option("--format", "format_name", metavar="F", help="The logs' format; detected unless given.")
@click.option(
    "--map",
    "mappings",
    metavar="FIELD=PATH",
    multiple=True,
    help="Read any JSON with a mapping: raw=$.output.text …, or the NAME of a saved one.",
)
@click.option("--save-map", "save_as", metavar="NAME", help="Save what --map says under a name, for --map NAME.")
@click.option(
    "--session-key", metavar="KEY", help="Key that names an entry's session, e.g. metadata.chat_id; - for none."
)
@_arguments.home_option
@click.option(
    "--tools", type=click.Path(exists=True, path_type=Path), metavar="F", help="Tools, if the logs have none."
)
@click.option("--name", metavar="NAME", help="The file name for standard input.")
@click.option("--again", is_flag=True, help="Read stored logs again: all, or by the start of hash or name.")
@click.option("--watch", is_flag=True, help="Keep reading new and growing files until interrupted.")
@click.option(
    "--every", default=1.0, show_default=True, type=click.FloatRange(0.05), help="Seconds between two checks."
)
@click.option("--skip-unknown", is_flag=True, help="Exit with 0 though dialogue in a folder could not be read.")
@click.option("--dry-run", is_flag=True, help="Show what is in the files and store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result of each file as one JSON document.")
@click.argument("paths", nargs=-1, metavar="PATH…")
def command(
    format_name: str | None,
    mappings: tuple[str, ...],
    save_as: str | None,
    session_key: str | None,
    home: str | None,
    tools: Path | None,
    name: str | None,
    again: bool,
    watch: bool,
    every: float,
    skip_unknown: bool,
    dry_run: bool,
    as_json: bool,
    paths: tuple[str, ...],
) -> None:
    """Read the logs at each PATH (- for standard input; gzip, zstd, xz, bzip2 too) into the database.

    A PATH is a file, a folder with everything below it, or a pattern. Files of a folder that are not logs are skipped,
    each named with its reason. `fencepost formats` lists what can be read.
    Nothing is stored twice; new turns are added to their sessions; a new --map replaces what the previous one read.
    Exits with 0 when every file was read, with 1 when a file could not be read (the others are stored), when answers
    are missing, when dialogue in a folder was not read (without --skip-unknown) or no log was found, with 2 when used
    wrongly. With --watch, Fencepost reads a file once it has not changed for one interval and leaves an unfinished line
    for later; --json prints a document for each file.
    """
    _check(click.get_current_context().params)
    tools_ = None if tools is None else read_tools(tools)
    settings = _store.settings()
    mapping = _mapping(settings, mappings) if mappings else {OPTION: session_key} if session_key else None
    _give_way()
    with nullcontext() if dry_run else _store.engine(settings) as engine:
        if save_as is not None and mapping is not None and engine is not None:
            saved_mappings.save(engine, save_as, mapping)
        reader = FileReader(engine, settings, format_name, home, not as_json, mapping)
        if watch:
            _watch(reader, paths, every, as_json)
            return
        files = read_again(reader, paths) if again else map(reader.read, _arguments.find(paths, name or "stdin"))
        results = list(files if as_json else _reported(files))
        if tools_ is not None and engine is not None:
            _hold(engine, results, tools_, as_json)
        unknown = None if engine is None else after_ingest(engine, _keys(results), quiet=as_json)
    if as_json:
        counts = unknown and {"responses": unknown.responses, "not_json": unknown.not_json}
        _terminal.print_json(_ingest_report.document(results, dry_run) | {"parser_unknown": counts})
    else:
        _summarize(results, again)
    sys.exit(_status(results, skip_unknown))


def _hold(engine: sa.Engine, results: list[FileResult], tools: dict[str, Any], as_json: bool) -> None:
    count = start.tell_tools(engine, _keys(results), tools)
    held = f"{counted(count, 'call')} {'is' if count == 1 else 'are'} held"
    click.echo(f"{held} against the tools that were given", err=as_json)


def _keys(results: list[FileResult]) -> list[str]:
    return [key for result in results if result.ingested for key in result.ingested.keys]


def _summarize(results: list[FileResult], again: bool) -> None:
    """What stands under the lines of the files, on a terminal."""
    _ingest_report.passed_over(results)
    if len(results) > 1:
        click.echo(_ingest_report.total(results))
    elif not results:
        click.echo("no log is kept here yet" if again else "no file was found", err=True)


def _give_way() -> None:
    """Let the server go first, so that pages stay quick meanwhile; only where this process is the command."""
    if sys.argv[1:2] == ["ingest"] and hasattr(os, "nice"):
        os.nice(_NICER)


def _watch(reader: FileReader, paths: tuple[str, ...], every: float, as_json: bool) -> None:
    with stopped_by_signals(err=True) as stop_requested:
        _terminal.put(f"watching {', '.join(map(click.format_filename, paths))}; Ctrl+C stops it", err=True)
        for result in FolderWatch(reader, paths, every).until(stop_requested):
            if as_json:
                _terminal.print_json(_ingest_report.document([result], False))
            else:
                _ingest_report.say(result)


def _reported(results: Iterable[FileResult]) -> Iterator[FileResult]:
    for result in results:
        if result.skipped is None:
            _ingest_report.say(result)
        yield result


def _status(results: list[FileResult], skip_unknown: bool) -> int:
    """0 where there was a dump and every one was read, with the answers of each of its sessions."""
    failed = any(result.error or result.lacks_answers for result in results)
    failed = failed or (not skip_unknown and any(result.speaks for result in results))
    return 0 if any(result.content for result in results) and not failed else 1


def _check(use: dict[str, Any]) -> None:
    """Raises a usage error for options that do not go together, or name what there is not."""
    format_name, mappings, paths = use["format_name"], use["mappings"], use["paths"]
    again, watch, dry_run = use["again"], use["watch"], use["dry_run"]
    formats = f"there is no format {format_name!r}; there are: {', '.join(known_formats())}"
    refuse(format_name is not None and format_name not in known_formats(), formats)
    if use["home"] is not None:
        refuse_absent(profile(use["home"]))
    session_key = use["session_key"] is not None and mappings
    refuse(session_key, "--map names the session too (session=PATH): leave --session-key out.")
    refuse(mappings and format_name not in (None, "mapped"), "--map reads by a mapping, without --format.")
    not_saved = use["save_as"] is not None and (dry_run or not any("=" in option for option in mappings))
    refuse(not_saved, "--save-map saves what --map FIELD=PATH says, without --dry-run.")
    once = use["tools"] is not None and (watch or dry_run)
    refuse(once, "--tools is for logs that are read once: leave --watch and --dry-run out.")
    refuse(again and dry_run, "--again reads what is stored, --dry-run stores nothing: choose one.")
    files_alone = watch and (again or dry_run or "-" in paths)
    refuse(files_alone, "--watch is for folders and files, without --again and --dry-run.")
    refuse(not paths and not again, "Missing argument 'PATH…'.")
    named = use["name"] is not None and ("-" not in paths or again)
    refuse(named, "--name is for standard input: give - as a PATH.")
    refuse(paths.count("-") > 1, "standard input can be read once only.")


def _mapping(settings: Settings, options: Sequence[str]) -> dict[str, str]:
    """The fields that FIELD=PATH arguments name, over those of a saved mapping where one argument is its NAME.

    A usage error (exit 2) for more than one name and a name that is not saved. Raises `BadMapping`.
    """
    names = [argument for argument in options if "=" not in argument]
    if len(names) > 1:
        raise click.UsageError(f"--map takes FIELD=PATH, and the name of one saved mapping, not {names[1]!r} too")
    fields = _saved_mapping(settings, names[0]) if names else {}
    fields |= {field: path for field, _, path in (argument.partition("=") for argument in options) if path}
    paths_of(fields)
    return fields


def _saved_mapping(settings: Settings, name: str) -> dict[str, str]:
    with _store.engine(settings) as engine, engine.connect() as connection:
        try:
            return saved_mappings.find(connection, name).content
        except saved_mappings.NoSuchMapping:
            takes = "--map takes FIELD=PATH, or the name of a saved mapping, and none is called"
            raise click.UsageError(f"{takes} {name!r}") from None
