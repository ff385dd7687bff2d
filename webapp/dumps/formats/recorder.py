"""What `webapp.client.Recorder` writes: one entry a line, named as Fencepost names what a turn has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, cast, get_args

from webapp.dumps import grouping
from webapp.dumps.base import Context, Entry, id_text, number, text, whole
from webapp.dumps.head import Head
from webapp.dumps.records import Kind, Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.times import moment

_KINDS = get_args(Kind)
_MARK = "recorded_at"


class Recorded:
    name = "recorder"
    shapes = 'a recording {"session_id", "kind", "text", "recorded_at", …} one a line'

    def sniff(self, head: Head) -> int:
        samples = [sample for sample in head.lines if isinstance(sample, dict)]
        fits = [sample.get("kind") in _KINDS and {"session_id", _MARK} <= sample.keys() for sample in samples]
        return 95 if head.shape == "lines" and fits and all(fits) else 60 if _is_one(head) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        for name, entries in grouping.by_session(source, lambda entry: id_text(entry.get("session_id"))):
            early, first = _first(entries)
            yield SessionStart(name, self.name, home=text(first.get("home")), title=text(first.get("title")))
            yield from self.turns(chain(early, entries), {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        count, written = 0, None
        for entry in entries:
            if isinstance(entry, Problem):
                yield entry
                continue
            turn = _turn(count, entry[1], written)
            written = count if turn.written_by_model else written
            yield turn
            count += 1


plugin = Recorded()


def _is_one(head: Head) -> bool:
    """Whether the dump is a single entry, which looks like a document."""
    return head.shape == "object" and head.members.get("kind") in _KINDS and {"session_id", _MARK} <= head.keys


def _first(entries: Iterator[Entry | Problem]) -> tuple[list[Entry | Problem], dict[str, Any]]:
    """What was taken off `entries` to see the first object, which says what the session is called and parsed with."""
    early: list[Entry | Problem] = []
    for entry in entries:
        early.append(entry)
        if not isinstance(entry, Problem):
            return early, entry[1]
    return early, {}


def _turn(count: int, entry: dict[str, Any], written: int | None) -> Turn:
    """An error that says `answers` answers the last thing that the model wrote."""
    kind = cast(Kind, entry["kind"]) if entry.get("kind") in _KINDS else "event"
    raw = entry.get("text")
    raw = raw if isinstance(raw, str) else None
    if raw is not None:
        entry["text"] = None
    return Turn(
        entry=count,
        kind=kind,
        raw=raw,
        raw_at=None if raw is None else ("text",),
        role=text(entry.get("role")),
        agent=text(entry.get("name")) or text(entry.get("agent")),
        model=text(entry.get("model")),
        phase=text(entry.get("phase")),
        sounding=whole(entry.get("sounding")),
        round=whole(entry.get("round")),
        attempt=whole(entry.get("attempt")),
        parent=text(entry.get("parent")),
        failure=text(entry.get("failure")),
        answers=written if kind == "error" and entry.get("answers") is True else None,
        sent_at=moment(entry.get(_MARK)),
        tokens_in=whole(entry.get("tokens_in")),
        tokens_out=whole(entry.get("tokens_out")),
        cost=number(entry.get("cost")),
        source=entry,
    )
