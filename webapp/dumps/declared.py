"""Formats as data: `formats.toml` says how each is recognised, where its sessions are, and what an entry says.

A format has `fit` (tests that `of` = all, any or most of the first entries pass; `mark` is passed by one of them at
least) and `score`. Its entries are lines, items of a list, rows of a SQLite `table`, or the items of the `list` of
each. Of its `rules` the first whose `when` holds says what an entry is; those with `go_on` let others follow.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path as File
from typing import Any

from webapp.dumps.base import DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.branches import BranchedConversation
from webapp.dumps.declared_tests import at, holds, said_pieces
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import nested
from webapp.dumps.formats.openai import entry_turns
from webapp.dumps.messages.beside import stop
from webapp.dumps.messages.bodies import exchange, said_turns, unanswered
from webapp.dumps.messages.http import is_body
from webapp.dumps.messages.printed import from_repr, is_printed
from webapp.dumps.messages.turns import (
    each_filled,
    each_with,
    error_turns,
    event_turns,
    filled,
    message_turns,
    note_unknown_kind,
    result_turns,
    turns_of,
    unplaced,
    with_usage,
)
from webapp.dumps.records import Problem, changed
from webapp.dumps.sessions import document_session, page_entries, spilled
from webapp.dumps.sqlite_tables import opened, opened_tables
from webapp.dumps.values import as_list, as_object, id_text, short_title, text, whole

Rule = dict[str, Any]


@dataclass(slots=True)
class Declaring(BranchedConversation):
    """What later entries of a declared session need: what was said and called, for rules that say a thing `once`."""

    said: set[str] = field(default_factory=set)


class Declared(Format):
    """A format of the table."""

    conversation_type = Declaring

    def __init__(self, name: str, spec: dict[str, Any]) -> None:
        self.called, self.spec, self.shapes = name, spec, spec["shapes"]
        self.times, self.parent_key = tuple(spec.get("times", ())), spec.get("parent")
        self.by_key = bool(spec.get("by_key"))
        self.home = spec.get("home")
        self.id_key, self.id_name = spec.get("id_key", ""), spec.get("id_name", "id")

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            needed = self.spec.get("tables", ["\0"])
            return self.spec["score"] if all(set(name.split("|")) & set(head.names) for name in needed) else 0
        allowed = self.spec.get("dumps", ("object", "array", "lines", "parquet"))
        if head.shape not in allowed or not head.objects or "fit" not in self.spec:
            return 0
        count, fitting = len(head.objects), sum(holds(item, self.spec["fit"]) for item in head.objects)
        enough = {"all": fitting == count, "any": fitting > 0, "most": fitting > 0 and 2 * fitting >= count}
        marked = "mark" not in self.spec or any(holds(item, self.spec["mark"]) for item in head.objects)
        return self.spec["score"] if enough[self.spec.get("of", "all")] and marked else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        for tests, path in self.spec.get("session", {}).items():
            if tests == "*" or holds(entry, tests):
                return id_text(at(entry, path)[0])
        return None

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "sqlite":
            yield from self._stored(source)
        elif "stream" in self.spec and head.shape == "object":
            yield document_session(source, head, self.spec["stream"], needed=self.spec["stream"])
        elif "list" in self.spec or self.spec.get("each"):
            yield from self._listed(source, head)
        else:
            yield from super().sessions(source, head)

    def _listed(self, source: Source, head: DumpHead) -> Sessions:
        """A session of each entry: of the list that it holds, else of itself."""
        pages = self.spec.get("pages", ())
        entries: Entries = page_entries(source, head, *pages)
        alone = head.shape == "object" and not any(key in head.items for key in pages)
        for number, one in enumerate(entries, start=self.spec.get("number_from", 1)):
            if isinstance(one, Problem):
                yield one
            else:
                yield self._session(source.stem if alone else f"{source.stem}-{number}", *one)

    def _session(self, fallback: str, place: str, value: dict[str, Any]) -> SessionEntries | Problem:
        parts = [id_text(at(value, path)[0]) for path in self.spec.get("id", "id").split("/")]
        name = "/".join(part for part in parts if part) if parts[0] else fallback
        title = short_title(text(at(value, self.spec.get("title"))[0]))
        if "list" not in self.spec:
            return SessionEntries(name, [(place, value)], title)
        listed, steps = at(value, self.spec["list"])
        if not isinstance(listed, list) or steps is None:
            return Problem(place, f"no list of {self.spec['list']}; skipped")
        value.pop(str(steps[0]))
        opening = [
            {"role": role, key: said}
            for role, key, path in self.spec.get("before", ())
            if (said := text(at({**value, str(steps[0]): None}, path)[0]))
        ]
        if "wrap" in self.spec:
            listed = [{self.spec["wrap"]: item} for item in listed]
        return SessionEntries(name, nested(place, str(steps[-1]), [*opening, *listed]), title, extra=value)

    def _stored(self, source: Source) -> Sessions:
        """Rows of a table by their session, with texts that are JSON opened."""
        spec, key = self.spec, self.spec.get("row_session")
        with opened_tables(source) as tables, spilled() as aside:
            table = next(name for name in spec["table"].split("|") if name in tables.names)
            for number, row in enumerate(tables.rows(table, *spec.get("order", ())), start=1):
                value = opened(row)
                inner = at(value, spec.get("entry", "."))[0]
                name = id_text(at(value, key)[0]) if key else None
                place = f"{table}, row {number}"
                for index, one in enumerate(inner if isinstance(inner, list) else [inner]):
                    entry = one if isinstance(one, dict) else {"value": one}
                    aside.put(name or source.stem, 0, f"{place}[{index}]" if isinstance(inner, list) else place, entry)
            yield from (SessionEntries(name, entries) for name, entries in aside.sessions())

    def conversation(self, context: Any) -> Declaring:
        return Declaring(text(at(context, self.spec.get("session_model", "model"))[0]))

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[PlacedTurn]:
        spec = self.spec
        conversation.model = text(at(entry, spec.get("model"))[0]) or conversation.model
        conversation.notes += [words for tests, words in spec.get("notes", {}).items() if holds(entry, tests)]
        if "kinds" in spec and not holds(entry, spec["kinds"]):
            note_unknown_kind(at(entry, spec.get("kind", "type"))[0], conversation)
        turns = self._ruled(spec["rules"], entry, conversation)
        conversation.said.update(turn.raw for turn, _ in turns if turn.kind == "response" and turn.raw)
        if "branch" in spec:
            ident, parent = (id_text(at(entry, path)[0]) for path in spec["branch"])
            turns = each_filled(turns, sounding=conversation.branch(ident, parent), parent=parent)
        return turns

    def _ruled(self, rules: list[Rule], entry: dict[str, Any], conversation: Declaring) -> list[PlacedTurn]:
        """What the first rule says that fits, and those before it that let others go on."""
        turns: list[PlacedTurn] = []
        for rule in rules:
            if not holds(entry, rule.get("when")):
                continue
            if "for" in rule:
                turns += self._each(rule, entry, conversation)
            else:
                turns += each_with(self._turns(rule, entry, conversation), sounding=rule.get("sounding"))
            if not rule.get("go_on"):
                break
        return turns

    def _each(self, rule: Rule, entry: dict[str, Any], conversation: Declaring) -> list[PlacedTurn]:
        """What each item of a list says, by rules of its own, in which it is the entry."""
        items, steps = at(entry, rule["for"])
        turns: list[PlacedTurn] = []
        for index, item in enumerate(as_list(items)):
            holder = item if isinstance(item, dict) else {"item": item}
            for turn, path in self._ruled(rule["rules"], holder, conversation):
                inner = path[1:] if path and holder is not item else path
                turn = changed(turn, sounding=index) if rule.get("numbered") else turn
                turns.append((turn, None if inner is None else (*(steps or ()), index, *inner)))
        return turns

    def _turns(self, rule: Rule, entry: dict[str, Any], conversation: Declaring) -> list[PlacedTurn]:
        role = rule.get("role") or text(at(entry, self.spec.get("role", "role"))[0])
        role = self.spec.get("roles", {}).get(role, role)
        about: dict[str, Any] = {"model": text(at(entry, rule["model"])[0])} if "model" in rule else {}
        if "message" in rule:
            inner, steps = at(entry, rule["message"])
            message = {key: value for key, value in as_object(inner).items() if key not in rule.get("without", ())}
            own = text(message.get("role"))
            message["role"] = role if rule.get("outer_role") else self.spec.get("roles", {}).get(own, own) or role
            turns = message_turns(message, conversation, steps or (), **about)
        elif "printed" in rule:
            turns = _printed(at(entry, rule["printed"])[0], conversation)
        elif "known" in rule:
            turns = entry_turns(as_object(at(entry, rule["known"])[0]), conversation)
        elif "request" in rule or "response" in rule:
            turns = _exchanged(rule, entry, conversation)
        elif "result" in rule and "say" not in rule:
            turns = _result(rule, entry, conversation)
        elif "error" in rule:
            error, steps = at(entry, rule["error"])
            turns = error_turns(
                error, text(at(entry, rule.get("reason"))[0]), steps if isinstance(error, str) else None
            )
        elif "event" in rule:
            value, steps = at(entry, rule.get("text"))
            placed = (value, steps) if isinstance(value, str) else (None, None)
            turns = event_turns(text(at(entry, rule["event"])[0]) or rule.get("called"), *placed)
        else:
            pieces = list(said_pieces(rule["say"], entry, conversation, conversation.said))
            if not pieces and (rule.get("optional") or "or_event" in rule):
                return [] if "or_event" not in rule else event_turns(text(at(entry, rule["or_event"])[0]))
            turns = turns_of(pieces, role, conversation, **about)
        if rule.get("once") and all(turn.raw in conversation.said for turn, _ in turns):
            turns = event_turns(text(entry.get("type")))
        turns = unplaced(turns) if rule.get("unplaced") else turns
        fill = rule.get("fill_of", {}).get(role, rule.get("fill", {}))
        values = {key: _fitting(key, at(entry, path)[0]) for key, path in fill.items()}
        if "stop" in rule and (why := stop(at(entry, rule["stop"])[0])):
            turns = [(filled(turn, stop=why) if turn.written_by_model else turn, path) for turn, path in turns]
        usage = {key: at(entry, path)[0] for key, path in rule.get("usage", {}).items()}
        return with_usage(each_filled(turns, **values), usage) if usage else each_filled(turns, **values)


def _fitting(key: str, value: Any) -> Any:
    return whole(value) if key in ("tokens_in", "tokens_out", "round", "attempt", "sounding") else text(value)


def _exchanged(rule: Rule, entry: dict[str, Any], conversation: Declaring) -> list[PlacedTurn]:
    request, request_at = at(entry, rule.get("request"))
    response, response_at = at(entry, rule.get("response"))
    asked = {"messages": request} if isinstance(request, list) else request
    asked = {"prompt": asked} if isinstance(asked, str) else asked
    turns = exchange(asked, response, request_at or (), response_at or (), conversation)
    if not any(turn.written_by_model for turn, _ in turns):
        unanswered(entry, turns, conversation)
    return turns if asked is request else unplaced(turns)


def _printed(value: Any, conversation: Declaring) -> list[PlacedTurn]:
    """What a program printed: an answer where it is a provider's body, or an SDK's object; else an event."""
    raw = value if isinstance(value, str) else "".join(part for part in as_list(value) if isinstance(part, str))
    body = (json_or_none(raw) or from_repr(raw)) if raw.lstrip()[:1] == "{" else None
    if isinstance(body, dict) and is_body(body):
        return unplaced(exchange(None, body, (), (), conversation))
    return said_turns(raw, None, conversation) if is_printed(raw) else event_turns("printed", raw)


def _result(rule: Rule, entry: dict[str, Any], conversation: Declaring) -> list[PlacedTurn]:
    answer, steps = at(entry, rule["result"])
    name, ident = (text(at(entry, rule.get(key))[0]) for key in ("name", "id"))
    return result_turns(answer, steps or (), conversation, name, ident)


@cache
def declared() -> dict[str, Format]:
    """The formats of the table, by name."""
    tables = tomllib.loads(File(__file__).with_name("formats.toml").read_text("utf-8"))
    return {name: Declared(name, spec) for name, spec in tables.items()}
