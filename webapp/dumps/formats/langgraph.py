"""LangGraph's states and checkpoints, whose pickles nobody runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import groupby
from typing import Any

import msgpack

from webapp import jsontext
from webapp.dumps.base import DumpHead, Entries, Entry, SessionEntries, Sessions, Source
from webapp.dumps.budget import DEEPEST, Allowance, TooLarge
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import entries_of
from webapp.dumps.formats.langchain import IDS, LangChain, is_conversation
from webapp.dumps.messages.langchain import is_message, unwrapped
from webapp.dumps.records import Problem
from webapp.dumps.sessions import spilled
from webapp.dumps.sqlite_tables import opened_tables
from webapp.dumps.values import as_list, as_object, first_id, id_text


class LangGraph(LangChain):
    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 95 if "checkpoints" in head.names else 0
        return 94 if head.objects and (all(map(_is_state, head.objects)) or _is_stream(head.objects)) else 0

    def arranged(self, entries: Iterable[Entry | Problem]) -> Iterable[Entry | Problem]:
        return entries

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape != "sqlite":
            yield from _states(source, head)
            return
        with opened_tables(source) as tables:
            rows = tables.rows("checkpoints", "thread_id", "checkpoint_id")
            for thread, checkpoints in groupby(rows, lambda row: id_text(row.get("thread_id")) or source.stem):
                yield SessionEntries(thread, _messages(checkpoints))


def _messages(checkpoints: Iterable[dict[str, Any]]) -> Entries:
    """The messages of a thread in the order in which they came, each as its last checkpoint has it."""
    messages: dict[str, dict[str, Any]] = {}
    for row in checkpoints:
        at = f"checkpoint {row.get('checkpoint_id')}"
        value = _value(row)
        if isinstance(value, str):
            yield Problem(at, value)
            continue
        _take(as_object(value).get("channel_values"), messages)
    yield from _numbered(messages)


def _numbered(messages: dict[str, dict[str, Any]]) -> list[Entry]:
    return [(f"message {number}", message) for number, message in enumerate(messages.values())]


def _take(channels: Any, messages: dict[str, dict[str, Any]]) -> None:
    """Note the messages of a checkpoint's channels, each under its name."""
    for channel in as_object(channels).values():
        for index, message in enumerate(as_list(channel)):
            if is_message(message):
                messages[_name(message, index)] = message


def _is_state(value: dict[str, Any]) -> bool:
    messages = as_list(as_object(value.get("values")).get("messages"))
    return "next" in value and all(map(is_message, messages)) and isinstance(value.get("values"), dict)


def _is_stream(values: list[dict[str, Any]]) -> bool:
    """Whether these are the values of one state while it grew: all begin with the same message."""
    if len(values) < 2 or any(first_id(value, *IDS) or not is_conversation(value) for value in values):
        return False
    first = {id_text(unwrapped(as_object(value["messages"][0])).get("id")) for value in values}
    return len(first) == 1 and None not in first


def _states(source: Source, head: DumpHead) -> Sessions:
    """The states of threads, as its API and `get_state_history` give them, the last first."""
    with spilled() as aside:
        for number, entry in enumerate(entries_of(source, head)):
            if isinstance(entry, Problem):
                yield entry
            else:
                aside.put(_thread(entry[1]) or source.stem, -number, *entry)
        for name, states in aside.sessions():
            messages: dict[str, dict[str, Any]] = {}
            for _, state in states:
                _take(state.get("values", state), messages)
            yield SessionEntries(name, _numbered(messages))


def _thread(state: dict[str, Any]) -> str | None:
    holders = (as_object(state.get("config")).get("configurable"), state.get("checkpoint"), state.get("metadata"))
    return next((name for holder in holders if (name := first_id(as_object(holder), "thread_id"))), None)


def _name(message: dict[str, Any], index: int) -> str:
    """A message's own id, else its place and what it says."""
    inner = unwrapped(message)
    return id_text(inner.get("id")) or f"{index} {hash(jsontext.dumps(inner))}"


def _value(row: dict[str, Any]) -> Any:
    """What a checkpoint holds; a text that says why it cannot be read."""
    data, kind = row.get("checkpoint"), row.get("type")
    if kind in ("json", None) and isinstance(data, str | bytes):
        value = json_or_none(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        return "not JSON; skipped" if value is None else value
    if kind != "msgpack" or not isinstance(data, bytes):
        return f"written as {str(kind)[:40]!r}, which is not read (a pickle never is); skipped"
    try:
        return decoded(data)
    except BadMsgpack as bad:
        return f"damaged msgpack ({bad}); skipped"


_COPIED = 200
"""bytes that count as a value, for each level on which msgpack copies what an extension holds"""
_BY_FIELDS = (2, 4, 5)
"""the extensions of LangGraph that hold a class and its fields by name"""


class BadMsgpack(ValueError):
    """The bytes are no msgpack, or nested too deeply."""


def decoded(data: bytes, level: int = 0, allowance: Allowance | None = None) -> Any:
    """The value that the bytes hold. An object is `{"type": "constructor", "id": [module …, class], "kwargs"}`.

    Raises `BadMsgpack`, also for more values than an item may hold.
    """
    if level > DEEPEST:
        raise BadMsgpack("nested too deeply")
    allowance = allowance or Allowance()
    allowance.take(4 + level * len(data) // _COPIED, "an extension")
    options = {"object_pairs_hook": partial(_object, allowance), "list_hook": partial(_list, allowance)}
    hooks = {"ext_hook": partial(_extension, level, allowance), **options}
    try:
        value = _text(msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogatepass", **hooks))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise BadMsgpack(str(error) or type(error).__name__) from error
    if not level and (allowance.left < 0 or jsontext.depth(value) > DEEPEST):
        raise BadMsgpack("nested too deeply, or too much for one item")
    return value


def _text(value: Any) -> Any:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _list(allowance: Allowance, values: list[Any]) -> list[Any]:
    allowance.take(4 + len(values), "a list")
    return [_text(value) for value in values]


def _object(allowance: Allowance, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    allowance.take(4 + len(pairs), "an object")
    return {str(_text(key)): _text(value) for key, value in pairs}


def _extension(level: int, allowance: Allowance, code: int, data: bytes) -> Any:
    try:
        inner = decoded(data, level + 1, allowance)
    except (BadMsgpack, TooLarge):
        return None
    if not isinstance(inner, list) or len(inner) < 3:
        return inner
    if code in _BY_FIELDS and isinstance(inner[2], dict):
        return {"type": "constructor", "id": [*str(inner[0]).split("."), inner[1]], "kwargs": inner[2]}
    return inner[2]


plugin = LangGraph("langgraph")
