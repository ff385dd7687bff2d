"""LangChain's messages however they were written: `messages_to_dict`, `dumpd` (`lc: 1`), or a message's own fields."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any, TypeGuard

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.source import HEAD, Source
from webapp.dumps.values import as_list, as_object, id_text

_TYPES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "HumanMessageChunk": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_NAMES = (*_TYPES.values(), *_TYPES)


def is_message(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is a message of LangChain's, in any of its forms."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "constructor":
        return as_list(value.get("id"))[-1:] != [] and as_list(value["id"])[-1] in tuple(_TYPES)
    if isinstance(value.get("data"), dict) and "content" in value["data"]:
        return value.get("type") in _NAMES
    return value.get("type") in _NAMES and "content" in value and "role" not in value


def is_chunk(value: dict[str, Any]) -> bool:
    """Whether this is a piece of a streamed answer."""
    type_names = as_list(value.get("id"))[-1:] if value.get("type") == "constructor" else [value.get("type")]
    return type_names == ["AIMessageChunk"] or as_object(value.get("data")).get("type") == "AIMessageChunk"


SERVED = re.compile(r"(?:(?::|event:|id:|retry:|message:)[^\n]*\n|\s)*data:")
"""how server-sent events begin"""


_NOTHING = ("", "null", "[DONE]")
"""what stands where an event has no data"""


def served_messages(source: Source) -> Iterator[Any] | None:
    """The messages, or the states that hold some, of LangGraph's server-sent events; None where there are none."""
    source.file.seek(source.start)
    if not any(map(is_message, chain.from_iterable(map(_served, source.file.read(HEAD).splitlines())))):
        return None
    return _each_once(_served(line) for _, line in source.lines())


def _each_once(events: Iterable[list[Any]]) -> Iterator[Any]:
    """The messages of events, of which states repeat those before: as often as one state has them.

    Pieces of one, which may be alike, are all kept, and not the whole behind them; of one that grows, the last is.
    """
    seen, in_pieces, waiting = Counter[int](), set[str](), list[Any]()
    for messages in events:
        here = Counter[int]()
        for message in messages:
            ident = id_text(as_object(message).get("id"))
            if isinstance(message, str) or is_chunk(message) or "data" in message or "kwargs" in message:
                yield from (*waiting, message)
                waiting = []
                in_pieces.add(ident or "")
                continue
            digest = hash(repr(message))
            here[digest] += 1
            if ident in in_pieces or here[digest] <= seen[digest]:
                continue
            seen[digest] += 1
            if waiting and (ident is None or ident != id_text(waiting[0]["data"].get("id"))):
                yield from waiting
            waiting = [{"type": message["type"], "data": message}]
    yield from waiting


def _served(line: Any) -> list[Any]:
    """The messages that an event gives: one beside what is known of it, those of a state, or of a node's part of it.

    What failed, or is damaged, is left as its text, of which nothing is read but that it is there.
    """
    written = line[5:].decode("utf-8", "surrogateescape").strip() if line.startswith(b"data:") else ""
    value = json_or_none(written)
    states = [value, *value.values()] if isinstance(value, dict) else []
    every = [value, *(as_object(state).get("messages") for state in states)]
    messages: list[Any] = [message for listed in every for message in as_list(listed) if is_message(message)]
    is_lost = value is None and written not in _NOTHING
    return messages or ([written] if is_lost or as_object(value).get("error") else [])


def unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """The message's own fields, its type as LangChain's shorter word."""
    name = value.get("type")
    if name == "constructor" and isinstance(value.get("kwargs"), dict):
        listed = as_list(value.get("id"))
        value, name = value["kwargs"], listed[-1] if listed else None
    elif isinstance(value.get("data"), dict):
        value = value["data"]
    kind = _TYPES.get(str(name), name)
    return {**value, "type": kind} if "role" not in value else value


def generations_body(outputs: dict[str, Any]) -> dict[str, Any]:
    """The answer as a provider's body: as it came, or LangChain's generations."""
    generations = outputs.get("generations")
    if not isinstance(generations, list):
        message = outputs.get("output", outputs.get("message"))
        if isinstance(message, str):
            return {"choices": [{"text": message}]}
        if isinstance(message, dict) and "role" in message:
            return {"choices": [{"message": message}]}
        listed = [inner for inner in as_list(outputs.get("messages")) if isinstance(inner, dict)]
        if message is None and listed:
            message = listed[-1]
            return {"choices": [{"message": unwrapped(message) if is_message(message) else message}]}
        return {"choices": [{"message": unwrapped(message)}]} if is_message(message) else outputs
    flat = [inner for outer in generations for inner in (outer if isinstance(outer, list) else [outer])]
    choices: list[dict[str, Any]] = []
    for generation in flat:
        message = as_object(generation).get("message")
        if is_message(message):
            inner, written = unwrapped(message), as_object(generation).get("text")
            empty = "content" in inner and not inner["content"] and written
            choices.append({"message": {**inner, "content": written} if empty else inner})
        else:
            choices.append({"text": as_object(generation).get("text")})
    return {"choices": choices}


_NAMED = re.compile(r"Name: (?P<name>[^\r\n]*)\r?\n(?:\r?\n)?")
_BLOCK = re.compile(r"^(?:Invalid )?Tool Calls:[ \t]*\r?$", re.M)
_CALL = re.compile(r"^  (?P<name>[^\r\n]*) \((?P<id>[^()\r\n]*)\)\n Call ID: [^\n]*$", re.M)
_ARGUMENTS = re.compile(r"^  Args:[ \t]*$", re.M)
_ARGUMENT = re.compile(r"^    (?P<key>[^\s:][^:\r\n]*):(?: |$)", re.M)
_LITERAL = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d+)?(?:e[-+]?\d+)?|True|False|None")
_DOUBTFUL = re.compile(r"-?\d{5,}")
"""digits that may as well be the text of an id"""
_GUESSED = "LangChain prints arguments without quotes: whether those that look like numbers are texts is not known"


def pretty_printed(raw: str, role: str | None, notes: list[str]) -> dict[str, Any]:
    """The message that was printed, in LangChain's shape."""
    message: dict[str, Any] = {"role": role}
    if name_mark := _NAMED.match(raw):
        message["name"], raw = name_mark["name"], raw[name_mark.end() :]
    block = _BLOCK.search(raw) if role == "assistant" else None
    body = (raw[: block.start()] if block else raw).strip("\r\n").rstrip()
    blocks = from_repr(body) if body.startswith("[{'") else None
    message["content"] = blocks if isinstance(blocks, list) else body
    whole = {item.get("id"): item.get("input") for item in map(as_object, as_list(blocks)) if item.get("input")}
    if block and (calls := list(_calls(raw[block.start() :], notes, whole))):
        message["tool_calls"] = calls
    elif block:
        message["content"] = raw
    return message


def _calls(block: str, notes: list[str], whole: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    """The calls; of those that the message's content prints, too, the `whole` arguments stand there."""
    block = block.replace("\r\n", "\n")
    marks = list(_CALL.finditer(block))
    for mark, following in zip_longest(marks, marks[1:]):
        written = block[mark.end() : following.start() if following else len(block)]
        begin = _ARGUMENTS.search(written)
        rest = _BLOCK.split(written[begin.end() :])[0].strip("\r\n").rstrip() if begin else ""
        ident = None if mark["id"] == "None" else mark["id"]
        yield {"name": mark["name"], "id": ident, "args": whole.get(ident) or _arguments(rest, notes)}


def _arguments(written: str, notes: list[str]) -> Any:
    """The arguments by their names; of a call that LangChain could not read, the text that the model wrote."""
    marks = list(_ARGUMENT.finditer(written))
    if not marks or marks[0].start() or written.lstrip()[:1] in ("{", "["):
        return written.strip() if written.strip() else {}
    ends = [*(mark.start() for mark in marks[1:]), len(written) + 1]
    texts = {mark["key"]: written[mark.end() : end - 1] for mark, end in zip(marks, ends, strict=True)}
    values = {key: _printed_value(printed) for key, printed in texts.items()}
    if any(map(_DOUBTFUL.fullmatch, texts.values())) and _GUESSED not in notes:
        notes.append(_GUESSED)
    return values


def _printed_value(printed: str) -> Any:
    if _LITERAL.fullmatch(printed):
        return ast.literal_eval(printed)
    inner = from_repr(printed) if printed[:1] in ("{", "[") else None
    return printed if inner is None else inner
