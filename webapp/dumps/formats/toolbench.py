"""ToolBench answers: trees of Thought, Action and Action Input, or chains whose tool messages are Python reprs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import whole_document
from webapp.dumps.json_path import holds
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.messages.turns import each_with, event_turns, note_once, note_unknown_kind, text_turns, turns_of
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import each_session
from webapp.dumps.source import entry_or_problem
from webapp.dumps.stream import DocumentMember, Item, walk
from webapp.dumps.values import as_list, as_object, short_title, text

_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CUT = re.compile(
    rf"\{{'name': (?P<name>{_TEXT}), 'arguments': (?P<arguments>{_TEXT})(?:, (?:'response': (?P<response>.*))?)?", re.S
)
_CUT_AT = 100
"""Characters after which texts of published chains end, inside arguments too."""
_BAD_INPUT = 2
"""ToolBench's code for "there is an error in the input": the arguments could not be read."""


@dataclass(slots=True)
class _Tree(Conversation):
    branch: int = 0
    above: list[str | None] = field(default_factory=list)
    """for each node on the way to the one that is read, what it does where it is an action"""


class ToolBench(Format):
    shapes = 'ToolBench trees {"tree", "answer_generation"} or chains {"query", "answer": {"answer_details"}}'
    conversation_type = _Tree

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "object":
            return 90 if any(map(_is_chain, head.samples)) else 0
        if isinstance(head.members.get("tree"), dict) or _mentions_tree(head):
            return 95
        return 95 if _is_chain(head.document) or any(map(_is_chain, head.members.values())) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        is_tree = "tree" in head.keys or _mentions_tree(head)
        if not is_tree and not _is_chain(head.document):
            return _chains(source)
        make = _tree if is_tree else _chain
        return each_session(whole_document(source), source.stem, lambda _, at, value: make(source.stem, at, value))

    def read_entry(self, entry: dict[str, Any], conversation: _Tree) -> list[Turn]:
        path, node, above = as_list(entry.get("path")), as_object(entry.get("node")), conversation.above
        conversation.branch += bool(above) and len(path) <= len(above)
        del above[max(0, len(path) - 1) :]
        action = above[-1] if above else None
        above.append(text(node.get("description")) if node.get("node_type") == "Action" else None)
        turns: list[Turn] = _node(node, action, conversation) if node else event_turns()
        parent = ".".join(map(str, path[:-1])) or None
        return each_with(turns, parent=parent, sounding=conversation.branch or None)


plugin = ToolBench()


def _mentions_tree(head: DumpHead) -> bool:
    """A tree that is longer than the head."""
    return head.mentions("tree") and head.mentions("io_state", "expand_num") and head.mentions("node_type")


def _is_chain(value: Any) -> bool:
    return isinstance(value, dict) and holds(value, "answer:object answer.answer_details or role next:list")


def _tree(stem: str, at: str, value: dict[str, Any]) -> SessionEntries:
    outer = value.pop("tree", None)
    root = outer.pop("tree", outer) if isinstance(outer, dict) else outer
    title = _title(as_object(value.get("answer_generation")))
    if isinstance(outer, dict) and root is not outer:
        value["tree"] = outer
    return SessionEntries(stem, _nodes([root], "children"), title, extra=value)


def _chains(source: Source) -> Sessions:
    """Several chains, as members of an object or as items of a list."""
    for part in walk(source.text(), frozenset()):
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, DocumentMember):
            yield _chain(part.key, part.key, part.value)
        elif isinstance(part, Item):
            yield _chain(f"{source.stem}-{part.index}", part.at, part.value)


def _chain(name: str, at: str, value: Any) -> SessionEntries | Problem:
    if not isinstance(value, dict):
        return Problem(at, "expected an object with an answer; skipped")
    if "role" in value:
        return SessionEntries(name, _nodes([value], "next"))
    roots = as_object(value.get("answer")).pop("answer_details", None)
    if not isinstance(roots, list):
        return Problem(at, "expected a list under answer.answer_details; skipped")
    return SessionEntries(name, _nodes(roots, "next"), _title(value), extra=value)


def _title(value: dict[str, Any]) -> str | None:
    return short_title(text(value.get("query")))


def _nodes(roots: list[Any], below: str) -> Entries:
    """Every node before those below it: `{"path": [0, 1, …], "node": …}`, with nothing below in `node`."""
    waiting = [([index], root) for index, root in reversed(list(enumerate(roots)))]
    while waiting:
        path, node = waiting.pop()
        entry = entry_or_problem("node " + ".".join(map(str, path)), node)
        if isinstance(entry, Problem):
            yield entry
            continue
        if (problem := _unread_nodes(entry[0], node, below)) is not None:
            yield problem
        children = as_list(node.pop(below, None))
        yield entry[0], {"path": path, "node": node}
        waiting.extend(([*path, index], child) for index, child in reversed(list(enumerate(children))))


def _unread_nodes(at: str, node: dict[str, Any], below: str) -> Problem | None:
    """What to say of nodes below one that stand under another key, or in no list."""
    if below in node and not isinstance(node[below], list | None):
        return Problem(at, f"{below}: expected a list, found {kind_of(node[below])}; skipped")
    lists = ((key, map(as_object, as_list(value))) for key, value in node.items() if key != below)
    keys = (key for key, items in lists if any(item.keys() & {"node_type", "role"} for item in items))
    key = None if below in node else next(keys, None)
    return None if key is None else Problem(at, f"the nodes under {key[:40]!r}, which is no known key, were left out")


def _node(node: dict[str, Any], action: str | None, conversation: _Tree) -> list[Turn]:
    kind, description = node.get("node_type"), text(node.get("description"))
    if kind is None and "role" in node:
        return _message(node, conversation)
    if kind == "Thought" and description is not None:
        return text_turns(description, "assistant", conversation)
    if kind == "Action Input" and (description is not None or action):
        return _input(node, description, action, conversation)
    if kind != "Action" and description:
        note_unknown_kind(kind, conversation)
    agent = description if kind == "Action" else None
    return event_turns(text(kind), description, agent=agent)


def _input(node: dict[str, Any], arguments: str | None, action: str | None, conversation: Conversation) -> list[Turn]:
    """The arguments of the action above, and what the tool answered."""
    observed = text(node.get("observation"))
    failure = observed if node.get("observation_code") == _BAD_INPUT else None
    call = {"name": action, "arguments": arguments}
    piece = Piece("call", arguments, action, None, call, failure)
    results = [Piece("result", observed, action)] if observed else []
    return turns_of([piece, *results], "assistant", conversation)


def _message(node: dict[str, Any], conversation: _Tree) -> list[Turn]:
    role, message = text(node.get("role")), node.get("message")
    if isinstance(message, str) and len(message) == _CUT_AT:
        note_once(f"texts of this chain end after {_CUT_AT} characters: they were cut before", conversation)
    call = (from_repr(message) or _cut_repr(message)) if role == "tool" else None
    if isinstance(call, dict) and "arguments" in call:
        name = text(call.get("name"))
        arguments = "null" if call["arguments"] is None else call["arguments"]
        pieces = [Piece.of_call(arguments, name, None, call)]
        if call.get("response") is not None:
            pieces.append(Piece.of_result(call["response"], name))
        return turns_of(pieces, "assistant", conversation)
    raw = text_or_json(message)
    return turns_of([] if raw is None else [Piece("text", raw)], role, conversation)


def _cut_repr(value: Any) -> dict[str, Any] | None:
    """The call of a repr that was cut off behind its arguments, as published chains are (at 100 characters)."""
    match = _CUT.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    name, arguments = from_repr(match["name"]), from_repr(match["arguments"])
    return {"name": name, "arguments": arguments, "response": match["response"] or None}
