"""What `fencepost ingest` says: a line a file with its problems, how many files there were, or one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import click

from webapp.commands._file_reader import FileResult
from webapp.commands._terminal import put
from webapp.dumps.answer_alarm import MissingAnswers, in_words
from webapp.dumps.session_keys import SessionKeys
from webapp.parsing.words import counted
from webapp.store.ingest.start import IngestResult

MOST_SHOWN = 10
"""problems of one file printed word for word"""
MOST_SKIPPED = 200
"""files that were skipped, each with its reason"""


def say(result: FileResult) -> None:
    """A line for the file, then its first problems."""
    if result.skipped is not None:
        put(f"– {result.file}: skipped. {result.skipped}", err=True)
        return
    if result.error is not None:
        at = f" (at {result.error['at']})" if result.error.get("at") else ""
        put(f"✕ {result.file}: {result.error.get('message')}{at}", err=True)
        return
    new = result.survey is not None or (result.ingested is not None and result.ingested.created)
    mark = "▲" if result.lacks_answers else "●" if new else "·"
    put(f"{mark} {result.file}: {_summary(result)}")
    if missing := in_words(result.not_in_log):
        put(f"  this log does not carry: {missing}", err=True)
    if result.survey is not None:
        put(*(f"  {line}" for line in _of_keys(result.survey.session_keys)))
        put(*(f"  {turn['kind']}: {turn['text']}" for turn in result.survey.preview))
    problems = sorted(result.problems, key=lambda problem: not isinstance(problem, MissingAnswers))
    put(*(f"  {problem.at}: {problem.reason}" for problem in problems[:MOST_SHOWN]), err=True)
    if (more := result.figures[3] - MOST_SHOWN) > 0:
        put(f"  and {counted(more, 'problem')} more", err=True)


def _of_keys(keys: SessionKeys | None) -> Iterator[str]:
    """By which key entries are put together to sessions, and what the others would give."""
    if keys is None or (keys.entries < 2 and not keys.told):
        return
    if keys.files:
        yield from _of_member_keys(keys)
    elif keys.key is None:
        yield f"no session key: all {keys.entries:,} entries are one session; --session-key KEY names one"
    else:
        without = f" ({keys.without:,} entries are without it)" if keys.without else ""
        yield f"sessions by {keys.key}: {keys.sessions:,}{without}; --session-key KEY uses another, - none"
    for choice in keys.choices:
        if choice.key != keys.key:
            sessions = counted(choice.sessions, "session")
            yield f"  {choice.key}: {sessions}, in {choice.entries:,} of {keys.entries:,} entries"


def _of_member_keys(keys: SessionKeys) -> Iterator[str]:
    """Of an archive: all its files together, then file by file."""
    by = "each file's own key" if keys.differs else keys.key or "nothing, each file is one"
    without = f" ({keys.without:,} entries are without it)" if keys.without else ""
    files = counted(keys.files, "file")
    yield f"sessions of {files} by {by}: {keys.sessions:,}{without}; --session-key KEY uses another"
    for member in keys.members:
        yield f"  {member.name}: {counted(member.sessions, 'session')} by {member.key or 'nothing'}"
    if (more := keys.files - len(keys.members)) > 0:
        yield f"  and {counted(more, 'file')} more"


def _summary(result: FileResult) -> str:
    """For example `windlass, 3 sessions (1 new, 1 grown), 40 new turns, 2 problems`."""
    format_name, sessions, turns, problems = result.figures
    parts = [format_name, counted(sessions, "session"), counted(turns, "turn")]
    if result.ingested is not None:
        parts = _of_ingested(result.ingested)
    if problems:
        parts.append(counted(problems, "problem"))
    if result.lacks_answers:
        parts.append("answers missing")
    return ", ".join(parts)


def _of_ingested(ingested: IngestResult) -> list[str]:
    parts = [ingested.dump.format or "unknown format", counted(len(ingested.sessions), "session")]
    if ingested.changed:
        parts.append(f"{counted(ingested.changed, 'session')} now read by {ingested.dump.home}")
    if not ingested.created:
        return [*parts, "all there already"]
    kinds = ((ingested.new, "new"), (ingested.grown, "grown"))
    parts[1] += f" ({', '.join(f'{number} {kind}' for number, kind in kinds if number)})"
    return [*parts, counted(ingested.new_turns, "new turn")]


def total(results: Sequence[FileResult]) -> str:
    """For example `3 files read, 1 passed over, 1 could not be read`."""
    failed = sum(result.error is not None for result in results)
    skipped = sum(result.skipped is not None for result in results)
    parts = [f"{counted(len(results) - failed - skipped, 'file')} read"]
    parts += [f"{skipped:,} skipped"] if skipped else []
    return ", ".join([*parts, *([f"{failed:,} could not be read"] if failed else [])])


def passed_over(results: Sequence[FileResult]) -> None:
    """A line for each file of a folder that was not read, first those that seem to be dialogue."""
    for result in results:
        if result.speaks:
            put(f"▲ {result.file}: not read, though it seems to be dialogue. {result.skipped}", err=True)
    skipped = [result for result in results if result.skipped is not None and not result.speaks]
    for result in skipped[:MOST_SKIPPED]:
        say(result)
    if (more := len(skipped) - MOST_SKIPPED) > 0:
        click.echo(f"– and {counted(more, 'file')} more skipped (--json lists them all)", err=True)


def document(results: Sequence[FileResult], dry_run: bool) -> dict[str, Any]:
    """What came of each file, as `--json` prints it."""
    return {
        "dry_run": dry_run,
        "files": [_file(result) for result in results if result.skipped is None],
        "skipped": [
            {"file": result.file, "reason": result.skipped, "dialogue": result.speaks}
            for result in results
            if result.skipped
        ],
    }


def _file(result: FileResult) -> dict[str, Any]:
    about: dict[str, Any] = {"file": result.file, "error": result.error}
    if result.content is not None:
        about["answers_missing"] = result.lacks_answers
        about |= {field.name: getattr(result.content, field.name) for field in fields(result.content)}
    return about
