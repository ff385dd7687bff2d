"""`fencepost verify`: what is in a file against what is stored of it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click

from webapp.commands import _store, _terminal
from webapp.commands._arguments import open_log
from webapp.dumps.spool import spool
from webapp.parsing.words import counted
from webapp.store.sessions import verification

_MOST_PRINTED = 20
_NAMES = ("sessions", "answers", "tokens_in", "tokens_out")


@click.command("verify")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("path", metavar="FILE")
def command(as_json: bool, path: str) -> None:
    """Check that everything in the log FILE (- for standard input; gzip and zstd too) is stored.

    Reads the file again and compares sessions, answers, sums of tokens, and the text and entry of each turn with the
    database: what is not stored is shown with its place. So is text that seems to be said and is in no turn, and a
    session without answers: the file may have been misread. What is wrong with other places is listed. Exits
    with 0 when everything is stored and read, with 1 when something is not, with 2 when used wrongly.
    """
    settings = _store.settings()
    with _store.engine(settings) as engine, tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        with open_log(path) as stream:
            spooled = spool(stream, Path(folder), max_bytes=settings.max_dump)
        result = verification.verify(engine, spooled, click.format_filename(path))
    document = {"whole": result.is_whole, **{field.name: getattr(result, field.name) for field in fields(result)}}
    _terminal.say(as_json, document, *_lines(result), errors=_not_stored(result))
    sys.exit(0 if result.is_whole else 1)


def _lines(result: verification.Verification) -> Iterator[str]:
    for name in _NAMES:
        in_file, in_database = getattr(result.file, name), getattr(result.stored, name)
        mark = "●" if in_database >= in_file else "✕"
        said = f"{in_file:,} in the file, {in_database:,} stored" if in_file or in_database else "none in the file"
        yield f"{mark if in_file or in_database else '·'} {name.replace('_', ' ')}: {said}"
    strings = f"{result.strings:,} texts and entries, {result.missing_count:,} not stored"
    yield f"{'✕' if result.missing_count else '●'} {strings}"
    yield f"{'✕' if result.unread else '●'} {counted(len(result.unread), 'place')} with texts in no turn"


def _not_stored(result: verification.Verification) -> Iterator[str]:
    for problem in result.unread[:_MOST_PRINTED]:
        yield f"  {problem.at}: {problem.reason}"
    for session in result.missing_sessions[:_MOST_PRINTED]:
        yield f"  session {session!r} is not stored"
    for string in result.missing[:_MOST_PRINTED]:
        yield f"  {string.at} ({string.length:,} characters): {string.beginning}"
    if (more := result.missing_count - _MOST_PRINTED) > 0:
        yield f"  and {counted(more, 'string')} more"
    for problem in result.not_compared[:_MOST_PRINTED]:
        yield f"  {problem.at}: {problem.reason}"
