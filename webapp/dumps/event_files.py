"""Archives of sessions whose events are a file each: the members of a folder, by their numbers, are one session."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from webapp.dumps.archive_members import of_zip
from webapp.dumps.decoding import json_or_none
from webapp.dumps.records import Problem
from webapp.dumps.sessions import SessionEntries
from webapp.dumps.source import Source
from webapp.dumps.spilled_entries import spilled


def event_files(source: Source, pattern: re.Pattern[str]) -> Iterator[SessionEntries | Problem]:
    """A session for each folder with files whose names `pattern` finds; its first group is an event's number."""
    with tempfile.TemporaryDirectory(prefix="events-") as folder, spilled() as events:
        for member in of_zip(source.file, Path(folder)):
            if isinstance(member, Problem):
                yield member
                continue
            match = pattern.search(member.name)
            value = json_or_none(member.path.read_bytes().decode("utf-8", "surrogateescape")) if match else None
            if match is None or not isinstance(value, dict):
                yield Problem(member.name, "not an event; it was left out")
                continue
            parents = [part for part in member.name.split("/")[:-1] if part != "events"]
            events.put(parents[-1] if parents else source.stem, int(match[1]), member.name, value)
        yield from (SessionEntries(name, entries) for name, entries in events.sessions())
