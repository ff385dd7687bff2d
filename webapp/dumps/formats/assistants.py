"""OpenAI's Assistants API: pages of a thread's messages, of runs and their steps, alone or together, or its events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import Context, DumpHead, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.documents import entries_of
from webapp.dumps.messages.streams import put_together
from webapp.dumps.messages.turns import with_usage
from webapp.dumps.records import Entries, Entry, Problem, Turn
from webapp.dumps.sessions import microseconds, spilled
from webapp.dumps.source import Cut, entry_or_problem, too_long
from webapp.dumps.stream import DocumentMember, Item, walk
from webapp.dumps.values import as_list, as_object, id_text, text

_OBJECTS = ("thread.message", "thread.run", "thread.run.step")
_EVENTS = re.compile(r"(?:\A|\n)event:[ \t]*thread\.\S+[ \t]*\r?\ndata:")
_SECOND = 1_000_000
_STEPS = "run_steps"


@dataclass(slots=True)
class _Thread(Declaring):
    has_steps: bool = False
    """whether the file holds steps, whose usage their run says again"""


class Assistants(Declared):
    conversation_type = _Thread

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "text":
            return 95 if _EVENTS.search(head.text) else 0
        values = [*head.objects, *(value for value in head.members.values() if isinstance(value, dict))]
        listed = [item for items in (head.items.values() if head.shape == "object" else ()) for item in items]
        paged = [item for value in values for item in as_list(value.get("data"))]
        return 94 if any(_kind(value) in _OBJECTS for value in [*values, *listed, *paged]) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        back, last = _goes_back(head), 0
        with spilled() as aside:
            problems, steps, names = [], Counter[str](), dict.fromkeys(("",))
            for index, entry in enumerate(_entries(source, head)):
                if isinstance(entry, Problem):
                    problems.append(entry)
                    continue
                value = _held(entry[1])
                name = id_text(value.get("id" if _kind(value) == "thread" else "thread_id")) or ""
                names[name] = None
                steps[name] += _kind(value) == "thread.run.step"
                last = _order(value, index, back) if "created_at" in value else last
                aside.put(name, last, *entry)
            first = next((name for name in names if name), source.stem)
            aside.rename({"": first})
            for name, entries in aside.sessions():
                yield SessionEntries(name, entries, extra={_STEPS: steps[name] or steps[""]})
            yield from problems

    def conversation(self, context: Context) -> _Thread:
        return _Thread(has_steps=bool(context.get(_STEPS)))

    def read_entry(self, entry: dict[str, Any], conversation: _Thread) -> list[Turn]:  # type: ignore[override]
        value = _held(entry)
        conversation.model = text(value.get("model")) or conversation.model
        turns = super().read_entry(entry, conversation)
        is_run = _kind(value) == "thread.run" and not conversation.has_steps
        return with_usage(turns, value.get("usage")) if is_run else turns


plugin = Assistants("assistants")


def _kind(value: Any) -> str | None:
    return text(_held(value).get("object")) if isinstance(value, dict) else None


def _held(entry: dict[str, Any]) -> dict[str, Any]:
    """A message, run or step: the entry itself, or what an event of the stream holds."""
    data = entry.get("data")
    return data if isinstance(data, dict) and "event" in entry else entry


def _entries(source: Source, head: DumpHead) -> Entries:
    if head.shape == "text":
        return _whole_messages(_sse_events(source))
    alone = head.members.get("object") in _OBJECTS
    return _document(source) if head.shape == "object" and not alone else entries_of(source, head)


def _document(source: Source) -> Entries:
    """The objects of a document: its lists' items, and those of pages that are its members."""
    whole: dict[str, Any] = {}
    for part in walk(source.text(), None):
        if isinstance(part, Item):
            yield entry_or_problem(part.at, part.value)
        elif isinstance(part, Problem):
            yield part
        elif isinstance(part, DocumentMember):
            whole[part.key] = part.value
            yield from _member(part.key, part.value)
    yield from _cut("has_more", whole)


def _cut(at: str, page: dict[str, Any]) -> Entries:
    if page.get("has_more") is True:
        yield Problem(at, "the list continues after this page; the rest is not in the file")


def _member(key: str, value: Any) -> Entries:
    page = as_object(value)
    if (_kind(page) or "").startswith("thread"):
        yield key, page
    items = as_list(page.get("data"))
    back = _seconds(items[0] if items else None) >= _seconds(items[-1] if items else None)
    for index, item in reversed(list(enumerate(items))) if back else enumerate(items):
        yield entry_or_problem(f"{key}.data[{index}]", item)
    yield from _cut(f"{key}.has_more", page)


def _seconds(value: Any) -> int:
    return microseconds(as_object(value).get("created_at"))


def _goes_back(head: DumpHead) -> bool:
    """Whether the list begins with what came last, as the API's pages do unless asked otherwise."""
    items = next((items for items in head.items.values() if items), [])
    first, last = (_seconds(items[0]), _seconds(items[-1])) if items else (0, 0)
    return first > last or (first == last and head.members.get("object") == "list")


def _order(value: dict[str, Any], index: int, back: bool) -> int:
    """Times are whole seconds: within one a user speaks, a run begins, does its steps, and the assistant speaks."""
    kind, role = _kind(value), value.get("role")
    rank = {"thread": 0, "thread.run": 2, "thread.run.step": 3}.get(str(kind), 1 if role == "user" else 4)
    shift = min(index, _SECOND // 12)
    return _seconds(value) + rank * _SECOND // 5 + (_SECOND // 12 - shift if back else shift)


_DONE = ("", "[DONE]")


def _sse_events(source: Source) -> Iterator[Entry | Problem]:
    """Each event as `{"event": name, "data": object}` with its line; damaged ones as problems."""
    name, decoder = "", Decoder()
    for number, (at, line) in enumerate(source.lines(), start=1):
        if isinstance(line, Cut):
            yield Problem(f"line {number}", too_long(at))
            continue
        field, _, value = source.decode(line, at).strip().partition(":")
        if field == "event":
            name = value.strip()
        if field != "data" or value.strip() in _DONE:
            continue
        try:
            data = decoder.loads(value.strip())
        except Damage as damage:
            yield Problem(f"line {number}", f"{damage.reason} (character {damage.at} of the event); skipped")
            continue
        if isinstance(data, dict):
            yield f"line {number}", {"event": name, "data": data}


_MESSAGE = "thread.message."
_WHOLE = (f"{_MESSAGE}completed", f"{_MESSAGE}incomplete")


def _whole_messages(events: Iterable[Entry | Problem]) -> Iterator[Entry | Problem]:
    """The events; behind the last the messages that began and did not end, as far as they came, each a problem."""
    begun: dict[str, tuple[str, dict[str, Any], list[Any]]] = {}
    for event in events:
        yield event
        if isinstance(event, Problem):
            continue
        at, value = event
        name, data = str(value.get("event")), as_object(value.get("data"))
        ident = id_text(data.get("id")) or ""
        if name in _WHOLE:
            begun.pop(ident, None)
        elif name.startswith(_MESSAGE):
            _, message, deltas = begun.setdefault(ident, (at, {"role": "assistant"}, []))
            if isinstance(data.get("delta"), dict):
                deltas.append(data)
            else:
                message.update(data)
    for place, message, deltas in begun.values():
        content = as_object(put_together(deltas)).get("content", [])
        yield place, {"event": _WHOLE[1], "data": {**message, "content": content, "object": "thread.message"}}
        yield Problem(place, "the stream ends within this message; what came of it was read")
