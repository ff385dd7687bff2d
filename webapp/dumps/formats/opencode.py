"""OpenCode: `opencode export`, its database, or a zip of its storage, whose parts are joined by their ids."""

from __future__ import annotations

import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from webapp.dumps.archive_members import of_zip
from webapp.dumps.base import DumpHead, Entry, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.decoding import json_or_none
from webapp.dumps.records import Problem
from webapp.dumps.sessions import microseconds, spilled
from webapp.dumps.sqlite_tables import Tables, opened_tables, plain
from webapp.dumps.values import as_object, id_text, text

_STORED = re.compile(r"(?:^|/)(session|message|part)/[^/]+/[^/]+\.json$")


class OpenCode(Declared):
    def sniff(self, head: DumpHead) -> int:
        if head.shape == "zip":
            kinds = {match[1] for name in head.names if (match := _STORED.search(name))}
            return 90 if {"message", "part"} <= kinds else 0
        return super().sniff(head)

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        reader = {"sqlite": _of_database, "zip": _stored}.get(head.shape)
        return super().sessions(source, head) if reader is None else reader(source)


plugin = OpenCode("opencode")


def _of_database(source: Source) -> Sessions:
    """The sessions of opencode.db: messages and parts are JSON texts in rows that name their session and message."""
    with opened_tables(source) as tables:
        about = {row.get("id"): plain(row) for row in tables.rows("session")}
        rows = tables.rows("message", "session_id", "time_created", "id")
        for ident, messages in groupby(rows, lambda row: row.get("session_id")):
            extra = {"info": about[ident]} if ident in about else {}
            joined = (_joined(tables, row) for row in messages)
            title = text(as_object(extra.get("info")).get("title"))
            yield SessionEntries(id_text(ident) or source.stem, joined, title, extra=extra)


def _joined(tables: Tables, row: dict[str, Any]) -> Entry | Problem:
    """A message with its parts."""
    at, info = f"message {row.get('id')}", json_or_none(str(row.get("data")))
    if not isinstance(info, dict):
        return Problem(at, "its data is no JSON object; skipped")
    parts = sorted(tables.rows("part", message_id=str(row.get("id"))), key=lambda part: str(part.get("id")))
    return at, {"id": row.get("id"), "info": info, "parts": [json_or_none(str(part.get("data"))) for part in parts]}


def _stored(source: Source) -> Sessions:
    """The sessions of a storage folder: messages by their files' names, parts under the messages that they name."""
    with tempfile.TemporaryDirectory(prefix="storage-") as folder, spilled() as messages, spilled() as parts:
        infos: dict[str, dict[str, Any]] = {}
        for member in of_zip(source, Path(folder)):
            if isinstance(member, Problem):
                yield member
            elif match := _STORED.search(member.name):
                value, *problems = member.value()
                if not isinstance(value, dict):
                    reason = "expected a JSON object; skipped"
                    yield value if isinstance(value, Problem) else Problem(member.name, reason)
                    continue
                yield from problems
                holder = member.name.split("/")[-2]
                if match[1] == "session":
                    infos[id_text(value.get("id")) or holder] = value
                elif match[1] == "message":
                    when = microseconds(as_object(value.get("time")).get("created"))
                    messages.put(id_text(value.get("sessionID")) or holder, when, member.name, value)
                else:
                    parts.put(id_text(value.get("messageID")) or holder, 0, member.name, value)
        of_message = {name: [value for _, value in listed] for name, listed in parts.sessions()}
        for name, listed in messages.sessions():
            joined = ((at, {"info": value, "parts": of_message.get(str(value.get("id")), [])}) for at, value in listed)
            extra = {"info": infos[name]} if name in infos else {}
            yield SessionEntries(name, joined, text(as_object(extra.get("info")).get("title")), extra=extra)
