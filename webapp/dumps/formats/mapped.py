"""Any JSON or JSONL by a mapping from the fields of a turn to paths: raw=$.output.text, session=$.run_id …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from webapp.dumps.advice import ANSWERED, of_mappings
from webapp.dumps.base import Context, DumpHead, Format, Source
from webapp.dumps.budget import BadDump
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import apart, entries_of, grouped, objects, with_list
from webapp.dumps.json_path import Paths, Steps, at, each_at
from webapp.dumps.labels import labels_of
from webapp.dumps.mappings import MAPPED, NUMBERS, TEXTS, BadMapping, condition, holders, paths_of
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.pieces import text_or_json
from webapp.dumps.messages.requests import noted_answers
from webapp.dumps.messages.turns import each_filled, event_turns
from webapp.dumps.programs import answerless
from webapp.dumps.records import Entries, Entry, Problem, Turn
from webapp.dumps.sessions import SessionEntries, Sessions, spilled
from webapp.dumps.sqlite_tables import opened, opened_tables
from webapp.dumps.stream import walk
from webapp.dumps.told_texts import OF_ANSWERS, TELLS, is_written_by_model
from webapp.dumps.values import WORDS, as_object
from webapp.plugins import find

_FILLED = {**{name: name for name in (*TEXTS[1:], *NUMBERS, "cost")}, "time": "sent_at"}
_WRITTEN = frozenset(WORDS["written"].split())
"""words of names that only what a model wrote has, where one is named"""


class Mapped(Declared):
    """A declared format that a mapping makes: one rule, whose turn it is."""

    def __init__(self, mapping: Mapping[str, str] | None = None) -> None:
        """Raises `BadMapping`."""
        self.mapping = dict(mapping or {})
        self._each, paths = paths_of(self.mapping) if mapping else ((), {})
        self._raw = paths.get("raw", ())
        self._places = places = {key: _alternatives(path, len(self._each)) for key, path in paths.items()}
        fill = {_FILLED[name]: path for name, path in places.items() if name in _FILLED}
        rule = {"turn": places.get("raw"), "kind": places.get("kind"), "fill": fill}
        about = {"first": {"title": places.get("title")}, "session": {"*": places.get("session")}}
        spec = {
            "shapes": "any JSON or JSONL, by a mapping",
            "score": 0,
            "role": places.get("role"),
            "rules": [rule],
            "unchecked": ".",
        }
        super().__init__(MAPPED, spec | about)

    def sniff(self, head: DumpHead) -> int:
        return 0

    def by(self, mapping: Mapping[str, str]) -> Format:
        """The format with a mapping, of a text by the words behind which somebody speaks. Raises `BadMapping`."""
        paths_of(mapping)
        log = find("webapp.dumps.formats", "log_lines")
        return type(log)(labels_of(mapping)) if "said" in mapping else Mapped(mapping)

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if not self.mapping:
            raise BadDump("this format needs a mapping, as raw=$.output.text", "the mapping")
        extra = {"mapping": dict(self.mapping)}
        for session in self._mapped(source, head):
            yield session if isinstance(session, Problem) else replace(session, extra=extra)

    def _mapped(self, source: Source, head: DumpHead) -> Sessions:
        """Entries by session: lines, a list's items, the items of the object's longest list, or the object itself."""
        alone = not head.items or self._raw[:1] in [(key,) for key in head.keys]
        if "table" in self.mapping or head.shape == "sqlite":
            yield from self._named(self._rows(source, head))
        elif self._each:
            yield from self._named(self._iterated(source, head))
        elif head.shape == "object" and not alone:
            key = max(head.items, key=lambda name: len(head.items[name]))
            yield from apart(objects(walk(source.text(), frozenset((key,))), key), self.session_of, source.stem)
        else:
            yield from grouped(source, head, self.session_of)

    def _named(self, entries: Iterable[tuple[str, str, dict[str, Any]] | Problem]) -> Sessions:
        """Entries by the session that each names, else by the name that stands before its place."""
        with spilled() as aside:
            for entry in entries:
                if isinstance(entry, Problem):
                    yield entry
                else:
                    aside.put(self.session_of(entry[2]) or entry[0], 0, *entry[1:])
            yield from (SessionEntries(name, entries) for name, entries in aside.sessions())

    def _rows(self, source: Source, head: DumpHead) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The rows of a table of a SQLite file, with what their columns hold as JSON; `each` goes through them."""
        table = self.mapping.get("table", "")
        if head.shape != "sqlite" or table not in head.names:
            advice = f"there are: {', '.join(head.names[:20])}" if head.shape == "sqlite" else "it is no SQLite file"
            raise BadDump(f"no table {table!r} is in it ({advice})", "the mapping")
        with opened_tables(source) as tables:
            for number, row in enumerate(tables.rows(table), start=1):
                value, place = opened(row), f"{table}, row {number}"
                if not self._each:
                    yield source.stem, place, value
                for inner, item, around in each_at(value, self._each) if self._each else ():
                    yield source.stem, f"{place}: {inner}", {"each": item, "around": around}

    def _iterated(self, source: Source, head: DumpHead) -> Iterator[tuple[str, str, dict[str, Any]] | Problem]:
        """What `each` leads to in every record; a record of a list that names no session is one of its own."""
        parts = self._each if self._each[0] or head.shape == "object" else self._each[1:]
        for number, record in enumerate(_records(source, head, parts), start=1):
            if isinstance(record, Problem):
                yield record
                continue
            name = source.stem if head.shape == "object" else f"{source.stem}-{number}"
            for place, value, around in each_at(record[1], parts):
                yield name, f"{record[0]}: {place}", {"each": value, "around": around}

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        mapping = context.get("mapping")
        try:
            reader = self.by(mapping if isinstance(mapping, dict) else self.mapping)
        except BadMapping as bad:
            values = (entry[1] for entry in entries if not isinstance(entry, Problem))
            events = (Turn(count, "event", source=value) for count, value in enumerate(values))
            return iter([Problem("mapping", str(bad)), *events])
        return Format.turns(reader, entries, {})

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        turns = super().read_entry(entry, conversation)
        raw, sent_at = turns[0].raw, turns[0].sent_at
        if "where" in self.mapping and not self._is_met(entry):
            return event_turns(sent_at=sent_at)
        prompt = at(entry, self._places.get("prompt"))[0]
        if isinstance(prompt, str):
            turns.insert(0, Turn(0, "prompt", raw=prompt, role="user", sent_at=sent_at))
        elif prompt is not None:  # messages, or a whole request
            request = {"messages": prompt} if isinstance(prompt, list) else prompt
            prompts = exchange(request, None, conversation)
            turns = [*each_filled(prompts, sent_at=sent_at), *noted_answers(turns, conversation)]
        if raw is None:
            conversation.notes.append("nothing is at the path of raw; kept as an event")
        return turns

    def _is_met(self, entry: dict[str, Any]) -> bool:
        path, must, wanted = condition(self.mapping["where"])
        value, place = at(entry, _alternatives(path, len(self._each)))
        if wanted is None:
            return value is not None
        return (place is not None and text_or_json(value) == wanted) is must


class Guessed(Mapped):
    """What nothing else reads, by the mapping that its refusal would name, where a model is told in it; it says so."""

    def __init__(self) -> None:
        super().__init__()
        self.called, self.surest = "guessed", 1
        self.shapes = "any other JSON in which a model is named, by a mapping that is guessed"

    def sniff(self, head: DumpHead) -> int:
        return int(_evident(head) is not None)

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        return Mapped(_evident(head) or {}).sessions(source, head)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        yield from super().turns(entries, context)
        named = ", ".join(f"{key}={path}" for key, path in as_object(context.get("mapping")).items())
        yield Problem("the end of the session", f"no known shape: read by the mapping {named}; else use --map raw=…")


plugins = (Mapped(), Guessed())


def _evident(head: DumpHead) -> dict[str, str] | None:
    """The mapping that would be advised, where a model is named, and what it reads is called as models' texts are, or
    has beside it what it took to write it."""
    if head.shape in ("text", "sqlite", "empty") or answerless(head.told) or (tried := of_mappings(head)) is None:
        return None
    least = tried.answers if "agent" in tried.mapping else 1  # of several who speak, some may be people
    beside = holders(tried.mapping, head)
    is_spent = 2 * sum(map(is_written_by_model, beside)) > len(beside)
    is_named = bool(ANSWERED.fullmatch(tried.named)) or not _WRITTEN.isdisjoint(tried.named.lower().split("_"))
    is_told = len(TELLS.findall(head.text)) >= least and tried.named not in OF_ANSWERS
    return tried.mapping if is_told and (is_named or is_spent) else None


def _alternatives(path: Steps, depth: int) -> Paths:
    """Where a path leads from an entry: within an `each`, in its value, else around it, from within outwards."""
    if not depth:
        return (path,)
    return (("each", *path), *(("around", -1 - number, *path) for number in range(depth)))


def _records(source: Source, head: DumpHead, parts: tuple[Steps, ...]) -> Entries:
    """What `each` is looked for in: lines, a list's items, or the document, whose list is read item by item."""
    if head.shape != "object" or len(parts) != 1 or len(parts[0]) != 1:
        return entries_of(source, head)
    key = str(parts[0][0])
    if key not in head.items:
        return entries_of(source, head)
    beside, entries = with_list(source, head, key)
    return (entry if isinstance(entry, Problem) else (entry[0], {**beside, key: [entry[1]]}) for entry in entries)
