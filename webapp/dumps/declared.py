"""Formats as data: `formats.toml` says how each is recognised, where its sessions are, and what an entry says.

A format has `fit` (tests that `of` = all, any, most or over half of its first entries pass; `mark` is passed by one of
them at least, `around` by what they stand in; one of its `hints` is in its text) and `score`. Where its entries are:

- `within` names lists: entries are the items of that list of a document, which is a session; of such documents one a
  line or in a list each is a session; else they are the entries themselves. `pages` names lists whose items are taken
  as if they were lines, each with what is `beside` the list.
- each document is a session with `list` (a path to its entries), `tree` (to messages by their ids) or `each` (itself).
  Texts beside the list are entries `before` and `after` it; of entries that are lists `pairs` are the keys.
- rows of a SQLite `table`, by `row_session`, but those that stand in `unless`, too; those of another are `about` the
  sessions, `about_as` a member of what is known of one. Columns that are `texts` stay so, though they hold JSON;
  `columns` names those that are taken. Rows of other tables that name one are in it by `joins`. With `list` or `tree` a
  row is a document.
- else lines, items of a list or the document, by `session`.

`sort` orders a session's entries by time; consecutive ones that pass the first tests of `runs` and are equal in what
its third part leads to are one, whatever passes its last between them, up to one that `run_ends`; the `first` says a
title, or which parser the program has. Ids that are `hex` may be base64. Of its `rules`, or those of the format that
they name, the first whose `when` holds says what an entry is; those with `go_on` let others follow (`declared_rules`,
`declared_pieces`). Where events repeat calls that answers hold there are `echoes`, and the rule of such an event is an
`echo`; `twins` are turns that are logged twice, and what `tells` of a session is none of its entries.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path as File
from typing import Any

from webapp.dumps.base import DumpHead, Entries, Entry, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared_pieces import preferred, tree_entries
from webapp.dumps.declared_rules import Declaring, branched, filling, repeated, ruled, with_spent, without_empty
from webapp.dumps.documents import inner_list, joined_runs, nested, objects, page_entries, with_list
from webapp.dumps.json_path import all_at, at, holds, without
from webapp.dumps.linked_turns import Side
from webapp.dumps.messages.turns import each_filled, each_with, event_turns, note_once, note_unknown_kind
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import by_time, each_session, spilled
from webapp.dumps.spans.logs import id_hex
from webapp.dumps.sqlite_tables import joined_rows, opened_tables, plain
from webapp.dumps.values import as_list, as_object, id_text, moment, short_title, text

_LOOKED_AT = 20


class Declared(Format):
    """A format of the table."""

    conversation_type = Declaring

    def __init__(self, name: str, spec: dict[str, Any] | None = None) -> None:
        self.called, self.spec = name, (spec := spec or table()[name])
        self.shapes, self.surest = spec["shapes"], 100 if "code" in spec else spec["score"]
        self.home, self.by_key = spec.get("home"), bool(spec.get("by_key"))
        self.id_key, self.id_name = spec.get("id_key", ""), spec.get("id_name", "id")
        self._within, self._pages = spec.get("within", ()), spec.get("pages", ())
        self._rules = spec["rules"] if isinstance(spec["rules"], list) else table()[spec["rules"]]["rules"]
        self._is_each = "list" in spec or "tree" in spec or bool(spec.get("each"))

    def sniff(self, head: DumpHead) -> int:
        spec = self.spec
        if head.shape == "sqlite":
            needed = spec.get("tables", ["\0"])
            rows = head.items.get(spec.get("table", ""), [])
            columns = {path.partition(".")[0].rstrip("{}") for path in spec.get("entry", ".").split("|")}
            is_other = "" not in columns and any(not columns & row.keys() for row in rows)
            fits = not is_other and all(set(name.split("|")) & set(head.names) for name in needed)
            return spec["score"] if fits else 0
        hinted = any(hint in head.text for hint in spec.get("hints", [""]))
        if head.shape not in spec.get("dumps", ("object", "array", "lines", "parquet")) or not hinted:
            return 0
        objects = head.objects
        if not any(objects):
            return spec["score"] if head.mentions_each(spec.get("mentions")) else 0
        if not all(holds(value, spec.get("around")) for value in objects):
            return 0
        samples = self._samples(head, objects)
        count, fitting = len(samples), sum("fit" in spec and holds(item, spec["fit"]) for item in samples)
        least = {"all": count, "any": 1, "most": (count + 1) // 2, "over half": count // 2 + 1}[spec.get("of", "all")]
        if not count or fitting < least:
            return 0
        marked = "mark" not in spec or any(holds(item, spec["mark"]) for item in samples)
        return spec["score"] if marked or head.mentions_each(spec.get("mentions")) else 0

    def _samples(self, head: DumpHead, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The first entries, wherever they lie."""
        key = self._held(head, (*self._within, *self._pages))
        if key is None and (inner := self._inner(head)) is not None:
            return [item for item in inner if isinstance(item, dict)]
        lists = [head.items[key]] if key is not None else [self._listed(value)[0] for value in objects]
        items = [item for listed in lists for item in as_list(listed)[:_LOOKED_AT] if isinstance(item, dict)]
        return items or objects

    def _inner(self, head: DumpHead) -> list[Any] | None:
        """The first items of a list that is the member of a member, `inner`; none where the head does not reach it."""
        if "inner" not in self.spec or head.shape != "object":
            return None
        outer, key = self.spec["inner"]
        listed = as_object(head.members.get(outer)).get(key)
        begins = (
            not head.whole
            and outer not in head.members
            and outer not in head.items
            and head.mentions_each(self.spec["mentions"])
        )
        return listed if isinstance(listed, list) else [] if begins else None

    def _held(self, head: DumpHead, keys: Iterable[str]) -> str | None:
        return next((key for key in keys if head.shape == "object" and key in head.items), None)

    def _listed(self, value: dict[str, Any]) -> tuple[Any, str | None]:
        """The list of entries that one of several documents holds, and its key."""
        key = next((key for key in self._within if isinstance(value.get(key), list)), None)
        return (None, None) if key is None else (value[key], key)

    def session_of(self, entry: dict[str, Any]) -> str | None:
        for tests, path in self.spec.get("session", {}).items():
            if tests == "*" or holds(entry, tests):
                return id_text(at(entry, path)[0])
        return None

    def arranged(self, entries: Iterable[Entry | Problem]) -> Iterable[Entry | Problem]:
        if "runs" not in self.spec:
            return entries
        when, key, same, *passing = self.spec["runs"]
        return joined_runs(
            entries,
            lambda value: holds(value, when),
            key,
            lambda value: all_at(value, same),
            passes=lambda value: any(holds(value, tests) for tests in passing),
            ends=lambda value: "run_ends" in self.spec and holds(value, self.spec["run_ends"]),
        )

    def says_of_session(self, first: dict[str, Any]) -> dict[str, Any]:
        return {key: text(at(first, path)[0]) for key, path in self.spec.get("first", {}).items()}

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        entries = self.entries(source, head)
        if head.shape == "sqlite":
            yield from self._stored(source)
        elif self._inner(head) is not None:
            outer, key = self.spec["inner"]
            listed = objects(inner_list(source.text(), outer, key), f"{outer}.{key}")
            yield self.named(source.stem, head.members, listed)
        elif not self._is_each and (key := self._held(head, self._within)):
            yield from self._sorted(self.named(source.stem, *with_list(source, head, key)))
        elif self._is_each or any(self._listed(value)[1] for value in head.objects if head.shape != "object"):
            alone = head.shape == "object" and not self._held(head, self._pages)
            for part in each_session(entries, source.stem, self._session):
                is_unnamed = alone and isinstance(part, SessionEntries) and part.name == f"{source.stem}-1"
                part = replace(part, name=source.stem) if is_unnamed and isinstance(part, SessionEntries) else part
                yield from self._sorted(part)
        elif "sort" in self.spec:
            yield from by_time(
                entries,
                lambda value: self.session_of(value) or source.stem,
                self._time,
                partial(self._told, source.stem),
            )
        else:
            yield from super().sessions(source, head)

    def entries(self, source: Source, head: DumpHead) -> Entries:
        """What is neither in a table nor in a list of one document; each with what stands `beside` the first list."""
        if "beside" in self.spec and head.shape == "object":
            around, entries = with_list(source, head, self._pages[0])
            about = {self.spec["beside"]: around.get(self.spec["beside"])}
            return (entry if isinstance(entry, Problem) else (entry[0], {**entry[1], **about}) for entry in entries)
        return page_entries(source, head, *self._pages)

    def _time(self, value: dict[str, Any]) -> Any:
        return at(value, self.spec["sort"])[0]

    def _sorted(self, session: SessionEntries | Problem) -> Sessions:
        if isinstance(session, Problem) or "sort" not in self.spec:
            return iter((session,))
        known = [replace(session, entries=())] if session.extra else []
        return by_time(session.entries, lambda _: session.name, self._time, known=known)

    def _told(self, stem: str, value: dict[str, Any]) -> SessionEntries | None:
        """The session that an entry `tells` of, which is then none of its entries."""
        return self.named(stem, value, iter(())) if "tells" in self.spec and holds(value, self.spec["tells"]) else None

    def named(self, fallback: str, about: dict[str, Any], entries: Iterator[Entry | Problem]) -> SessionEntries:
        """A session by what stands around its entries."""
        parts = [id_text(at(about, path)[0]) for path in self.spec.get("id", "id").split("/")]
        name = "/".join(part for part in parts if part) if parts[0] else fallback
        title = short_title(text(at(about, self.spec.get("title"))[0]))
        return SessionEntries(name, entries, title, extra=about)

    def _session(self, fallback: str, place: str, value: dict[str, Any]) -> SessionEntries | Problem:
        """The session that a document is: its list, its tree, or itself as the only entry."""
        spec = self.spec
        if spec.get("each"):
            return replace(self.named(fallback, value, iter([(place, value)])), extra={})
        path = spec["tree"][0] if "tree" in spec else spec.get("list") or self._listed(value)[1]
        items, steps = at(value, path)
        if "tree" in spec and isinstance(items, list):
            items = {id_text(as_object(item).get("id")) or str(number): item for number, item in enumerate(items)}
        if not isinstance(items, dict if "tree" in spec else list) or steps is None:
            return Problem(place, f"no list of {path or '|'.join(self._within)}; skipped")
        about = without(value, steps[:1] if isinstance(items, dict) else steps)
        if isinstance(items, dict):
            return self.named(fallback, about, tree_entries(place, items, str(steps[-1]), *spec["tree"][1:]))
        opening, closing = (
            [
                {"role": role, key: beside_text}
                for role, key, beside in spec.get(side, ())
                if (beside_text := text(at({**value, str(steps[0]): None}, beside)[0]))
            ]
            for side in ("before", "after")
        )
        items = [{spec["wrap"]: item} for item in items] if "wrap" in spec else self._paired(items)
        closing += preferred(about, spec.get("preferred", ()))
        entries = nested(place, str(steps[-1]), [*opening, *items, *closing])
        missing = [key for key in spec.get("preferred", ()) if key not in about]
        words = "of the preferred and the rejected answer one is missing"
        one_side = [Problem(place, f"{words} ({missing[0]!r})")] if len(missing) == 1 else []
        return self.named(fallback, about, chain(one_side, entries))

    def _paired(self, items: list[Any]) -> list[Any]:
        """Items that are lists as objects, whose keys are the `pairs` of the format."""
        keys = self.spec.get("pairs")
        return [dict(zip(keys, item, strict=False)) if keys and isinstance(item, list) else item for item in items]

    def _stored(self, source: Source) -> Sessions:
        """Rows of a table by their session, with texts that are JSON opened."""
        spec, key = self.spec, self.spec.get("row_session")
        with opened_tables(source) as tables, spilled() as aside:
            table = next((name for name in spec["table"].split("|") if name in tables.names), spec["table"])
            rows = enumerate(joined_rows(tables, table, spec, spec.get("texts", ())), start=1)
            if key is None and self._is_each:
                yield from each_session(((f"{table}, row {n}", row) for n, row in rows), source.stem, self._session)
                return
            others = {row.get("id") for row in tables.rows(spec.get("unless", ""))}
            for number, value in ((number, row) for number, row in rows if row.get("id") not in others):
                inner = at(value, spec.get("entry", "."))[0]
                name = id_text(at(value, key)[0]) if key else None
                place = f"{table}, row {number}"
                for index, item in enumerate(self._paired(inner) if isinstance(inner, list) else [inner]):
                    entry = item if isinstance(item, dict) else {"value": item}
                    aside.put(name or source.stem, 0, f"{place}[{index}]" if isinstance(inner, list) else place, entry)
            beside = ((id_text(row.get("id")), plain(row)) for row in tables.rows(spec.get("about", "")))
            about = {name: {spec["about_as"]: row} if "about_as" in spec else row for name, row in beside}
            for name, entries in aside.sessions():
                yield replace(self.named(name, about.get(name, {}), entries), name=name)

    def conversation(self, context: Any) -> Declaring:
        conversation = super().conversation(context)
        assert isinstance(conversation, Declaring)
        conversation.model = text(at(context, self.spec.get("session_model", "model"))[0])
        return conversation

    def about(self, entry: dict[str, Any]) -> dict[str, Any]:
        times = (moment(at(entry, path)[0]) for path in self.spec.get("times", ()))
        parent = at(entry, self.spec.get("parent"))[0]
        parent = id_hex(parent, 8) if "hex" in self.spec else id_text(parent)
        return {"sent_at": next(filter(None, times), None), "parent": parent}

    def checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Nothing of an entry that is `unchecked`, whose texts others say again, or which may say anything."""
        return {} if "unchecked" in self.spec and holds(entry, self.spec["unchecked"]) else entry

    def side(self, turn: Turn, entry: dict[str, Any], conversation: Declaring) -> Side | None:
        """Which of two `twins` a turn is: they are called as its kind or its role, and told by tests of the entry."""
        for names, *sides in self.spec.get("twins", ()):
            if name := next((name for name in (turn.kind, turn.role) if name in names.split("|")), None):
                return next(((name, side) for side, tests in enumerate(sides) if holds(entry, tests)), None)
        return None

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        spec = self.spec
        conversation.model = text(at(entry, spec.get("model"))[0]) or conversation.model
        conversation.notes += [words for tests, words in spec.get("notes", {}).items() if holds(entry, tests)]
        for words in (words for tests, words in spec.get("remarks", {}).items() if holds(entry, tests)):
            note_once(words, conversation)
        for kind in (path for tests, path in spec.get("kinds", ()) if not holds(entry, tests)):
            note_unknown_kind(at(entry, kind)[0], conversation)
        turns = without_empty(ruled(self._rules, entry, spec, conversation))
        turns = turns or event_turns(text(at(entry, spec.get("event"))[0]))
        turns = each_filled(with_spent(turns, spec, entry), **filling(spec.get("fill", {}), entry))
        conversation.said.update(turn.raw for turn in turns if turn.raw)
        if "repeats" in spec:
            turns = repeated(turns, id_text(at(entry, spec["repeats"])[0]), conversation)
        if "copied" in spec and holds(entry, spec["copied"]):
            turns = each_with(turns, duplicate_of=conversation.entry)
        return branched(turns, entry, spec["branch"], conversation) if "branch" in spec else turns


@cache
def table() -> dict[str, Any]:
    """The declared formats by their names."""
    return tomllib.loads(File(__file__).with_name("formats.toml").read_text("utf-8"))
