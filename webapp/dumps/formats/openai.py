"""OpenAI chat messages: a list, {"messages"}, requests with responses, as JSON or one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, Format, entry_or_problem, id_problem, id_text, objects, text
from webapp.dumps.documents import members, require_list
from webapp.dumps.formats import _openai
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import walk

_IDS = ("session_id", "conversation_id", "thread_id", "id", "custom_id")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
"""OpenAI's, and no others: other programs' messages have formats of their own."""


class OpenAi:
    name = "openai"
    shapes = 'OpenAI messages (a list, {"messages": […]}, {"request", "response"}, "choices"; JSON or one a line)'

    def sniff(self, head: Head) -> int:
        if head.shape == "object":
            return _sniff_object(head)
        found = [sample for sample in head.samples if isinstance(sample, dict)]
        fitting = sum(_is_message(sample) or _is_conversation(sample) or _is_exchange(sample) for sample in found)
        return 60 if found and 2 * fitting >= len(found) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        return read_as(self, source, head)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_openai.turns(entries, context))


plugin = OpenAi()


def read_as(kind: Format, source: Source, head: Head) -> Iterator[Record]:
    """The sessions of messages, conversations or exchanges, whose turns `kind` reads."""
    if head.shape == "object":
        yield from _document(kind, source, head)
    elif any(isinstance(sample, dict) and _is_conversation(sample) for sample in head.samples):
        yield from _conversations(kind, source, head)
    elif head.shape == "lines" and head.any_has("session_id"):
        yield from _sessions(kind, source)
    else:
        yield SessionStart(source.stem, kind.name)
        yield from kind.turns(_entries(source, head), {})


def _is_message(value: dict[str, Any]) -> bool:
    return (value.get("role") in _ROLES or value.get("type") in _openai.ITEMS) and "node_type" not in value


def _is_conversation(value: dict[str, Any]) -> bool:
    return isinstance(value.get("messages"), list) and not _is_exchange(value)


def _is_exchange(value: dict[str, Any]) -> bool:
    """A whole response, alone or with its request."""
    asked = any(key in value for key in ("request", "messages", "input", "custom_id"))
    return (
        "choices" in value
        or ("response" in value and asked)
        or ("custom_id" in value and isinstance(value.get("result"), dict))
        or (isinstance(value.get("output"), list) and "model" in value)
    )


def _sniff_object(head: Head) -> int:
    if _is_exchange({**head.members, **head.items}):
        return 55
    if "messages" in head.items:
        found = [item for item in head.items["messages"] if isinstance(item, dict)]
        return 60 if all(_is_message(item) for item in found) else 20
    if "messages" in head.members:
        return 30
    return 40 if _is_message(head.members) and "content" in head.keys else 0


def _document(kind: Format, source: Source, head: Head) -> Iterator[Record]:
    if "messages" not in head.keys or _is_exchange({**head.members, **head.items}):
        yield SessionStart(source.stem, kind.name)
        yield from kind.turns(_whole(source), {})
        return
    require_list(head, "messages")
    known = members(source, head, "messages", wanted="session_id")
    extra = {key: value for key, value in known.items() if key != "messages"}
    yield from _start(kind, extra, source.stem, "the document")
    yield from kind.turns(objects(walk(source.text(), frozenset(("messages",))), "messages"), extra)


def _start(kind: Format, extra: dict[str, Any], fallback: str, at: str) -> Iterator[Record]:
    own = next((extra[key] for key in _IDS if extra.get(key) is not None), None)
    name = id_text(own)
    name = fallback if name is None else name
    yield SessionStart(name, kind.name, home=None, title=text(extra.get("title")), extra=extra)
    yield from id_problem(at, own, name)


def _whole(source: Source) -> Iterator[Entry | Problem]:
    """A document that is one entry itself."""
    value: dict[str, Any] = {}
    for part in walk(source.text(), frozenset()):
        if isinstance(part, Problem):
            yield part
        elif hasattr(part, "value"):
            value[getattr(part, "key", "")] = part.value
    yield "the document", value


def _entries(source: Source, head: Head) -> Iterator[Entry | Problem]:
    return objects(walk(source.text(), frozenset()), "") if head.shape == "array" else grouping.lines(source)


def _sessions(kind: Format, source: Source) -> Iterator[Record]:
    """Messages one a line that name their sessions."""
    for name, entries in grouping.by_session(source, lambda message: id_text(message.get("session_id"))):
        yield SessionStart(name, kind.name)
        yield from kind.turns(entries, {})


def _conversations(kind: Format, source: Source, head: Head) -> Iterator[Record]:
    """One conversation a line, or an item of a list: each is a session."""
    for number, entry in enumerate(_entries(source, head), start=1):
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        if not _is_conversation(value):
            yield Problem(at, "expected an object with a list of messages; skipped")
            continue
        extra = {key: inner for key, inner in value.items() if key != "messages"}
        yield from _start(kind, extra, f"{source.stem}-{number}", at)
        yield from kind.turns(_messages(at, value["messages"]), extra)


def _messages(at: str, messages: list[Any]) -> Iterator[Entry | Problem]:
    for index, message in enumerate(messages):
        yield entry_or_problem(f"{at}, messages[{index}]", message)
