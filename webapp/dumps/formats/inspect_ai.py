"""Inspect AI logs, .json and .eval: each sample's epoch is a session, its attachments resolved."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, entry_or_problem, id_text, objects, text
from webapp.dumps.decoding import Damage, Decoder, kind_of
from webapp.dumps.documents import members
from webapp.dumps.formats import _inspect
from webapp.dumps.head import Head
from webapp.dumps.members import Member, of_zip
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import Item, walk

_SAMPLE = re.compile(r"(^|/)samples/[^/]+\.json$")
_HEADERS = ("header.json", "_journal/start.json")

MOST_BYTES = 512 * 1024 * 1024
"""of a sample in an archive, which is decoded whole"""


class InspectAi:
    name = "inspect_ai"
    shapes = 'Inspect AI logs (.json {"version", "eval", "samples"} or .eval)'

    def sniff(self, head: Head) -> int:
        if head.shape == "zip":
            named = any(name in _HEADERS for name in head.names)
            return 95 if named and ("header.json" in head.names or any(map(_SAMPLE.search, head.names))) else 0
        told = isinstance(head.members.get("eval"), dict)
        return 95 if told and (head.keys & {"samples", "plan", "status"}) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if head.shape == "zip":
            yield from _archive(source)
            return
        log = members(source, head, "samples", wanted="eval")
        log.pop("samples", None)
        for part in walk(source.text(), frozenset(("samples",))):
            if isinstance(part, Problem):
                yield part
            elif isinstance(part, Item):
                found = next(objects(iter([part]), "samples"))
                yield from [found] if isinstance(found, Problem) else _sample(log, *found)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_inspect.turns(entries, context))


plugin = InspectAi()


def _archive(source: Source) -> Iterator[Record]:
    """The samples of an .eval file, one at a time; the header says what was run."""
    log: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="eval-") as name:
        for header in (True, False):
            for member in of_zip(source.file, Path(name)):
                if isinstance(member, Problem):
                    yield from () if header else (member,)
                elif header and member.name in _HEADERS and (member.name == _HEADERS[0] or not log):
                    log = next((value for value in _value(member) if isinstance(value, dict)), log)
                elif not header and _SAMPLE.search(member.name):
                    for value in _value(member):
                        found = value if isinstance(value, Problem) else entry_or_problem(member.name, value)
                        yield from [found] if isinstance(found, Problem) else _sample(log, *found)


def _value(member: Member) -> Iterator[Any]:
    """What a member's JSON says, or a problem."""
    if member.path.stat().st_size > MOST_BYTES:
        yield Problem(member.name, f"longer than {MOST_BYTES // 2**20} MB; skipped")
        return
    decoder = Decoder()
    try:
        yield decoder.loads(member.path.read_bytes().decode("utf-8", "surrogateescape"))
    except Damage as damage:
        yield Problem(member.name, f"{damage.reason} (character {damage.at}); skipped")
    else:
        yield from decoder.repeats(member.name)


def _sample(log: dict[str, Any], at: str, value: dict[str, Any]) -> Iterator[Record]:
    messages = value.pop("messages", None)
    if not isinstance(messages, list):
        yield Problem(at, f"messages: expected a list, found {kind_of(messages)}; skipped")
        return
    told = log.get("eval")
    told = told if isinstance(told, dict) else {}
    run = next((name for key in ("eval_id", "run_id", "task_id") if (name := text(told.get(key)))), "eval")
    name = f"{run}/{id_text(value.get('id')) or at}/{id_text(value.get('epoch')) or 1}"
    extra = {**value, "log": log}
    yield SessionStart(name, plugin.name, title=text(told.get("task")), extra=extra)
    entries = (entry_or_problem(f"{at}, messages[{index}]", message) for index, message in enumerate(messages))
    yield from plugin.turns(entries, extra)
