"""ToolBench answers: trees of Thought, Action and Action Input, or chains whose tool messages are Python reprs."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, entry_or_problem, text
from webapp.dumps.formats._chat import Piece, as_json
from webapp.dumps.formats._turns import Found, Talk, numbered, turns_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import Item, Member, walk

_LONGEST_REPR = 1_000_000
_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CUT = re.compile(
    rf"\{{'name': (?P<name>{_TEXT}), 'arguments': (?P<arguments>{_TEXT})(?:, (?:'response': (?P<response>.*))?)?", re.S
)
_BAD_INPUT = 2
"""ToolBench's code for "there is an error in the input": the arguments could not be read."""


class ToolBench:
    name = "toolbench"
    shapes = 'ToolBench trees {"tree", "answer_generation"} or chains {"query", "answer": {"answer_details"}}'

    def sniff(self, head: Head) -> int:
        if head.shape != "object":
            return 90 if any(_is_chain(sample) for sample in head.samples) else 0
        if isinstance(head.members.get("tree"), dict) or _mentions_tree(head):
            return 95
        whole = {**head.members, **head.items}
        return 95 if _is_chain(whole) or any(map(_is_chain, head.members.values())) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if "tree" in head.keys or _mentions_tree(head):
            yield from _tree(source)
        elif _is_chain({**head.members, **head.items}):
            yield from _chain(source.stem, "the document", _document(source))
        else:
            for part in walk(source.text(), frozenset()):
                if isinstance(part, Problem):
                    yield part
                elif isinstance(part, Member):
                    yield from _chain(part.key, part.key, part.value)
                elif isinstance(part, Item):
                    yield from _chain(f"{source.stem}-{part.index}", part.at, part.value)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_turns(entries))


plugin = ToolBench()


def _mentions_tree(head: Head) -> bool:
    """A tree that is longer than the head."""
    return head.mentions("tree") and head.mentions("io_state", "expand_num") and head.mentions("node_type")


def _is_chain(value: Any) -> bool:
    answer = value.get("answer") if isinstance(value, dict) else None
    if isinstance(answer, dict) and "answer_details" in answer:
        return True
    return isinstance(value, dict) and "role" in value and isinstance(value.get("next"), list)


def _document(source: Source) -> dict[str, Any]:
    return {part.key: part.value for part in walk(source.text(), frozenset()) if isinstance(part, Member)}


def _tree(source: Source) -> Iterator[Record]:
    found: dict[str, Any] = {}
    for part in walk(source.text(), frozenset()):
        if isinstance(part, Member):
            found[part.key] = part.value
        elif isinstance(part, Problem):
            yield part
    outer = found.pop("tree", None)
    root = outer.pop("tree", outer) if isinstance(outer, dict) else outer
    generation = found.get("answer_generation")
    query = text(generation.get("query")) if isinstance(generation, dict) else None
    if isinstance(outer, dict) and root is not outer:
        found["tree"] = outer
    yield SessionStart(source.stem, plugin.name, title=query[:120] if query else None, extra=found)
    yield from plugin.turns(_nodes([root], "children"), found)


def _chain(name: str, at: str, value: Any) -> Iterator[Record]:
    if not isinstance(value, dict):
        yield Problem(at, "expected an object with an answer; skipped")
        return
    answer = value.get("answer")
    roots: Any = (
        [value] if "role" in value else answer.pop("answer_details", None) if isinstance(answer, dict) else None
    )
    if not isinstance(roots, list):
        yield Problem(at, "expected a list under answer.answer_details; skipped")
        return
    extra = {} if "role" in value else value
    query = text(extra.get("query"))
    yield SessionStart(name, plugin.name, title=query[:120] if query else None, extra=extra)
    yield from plugin.turns(_nodes(roots, "next"), extra)


def _nodes(roots: list[Any], below: str) -> Iterator[Entry | Problem]:
    """Every node before those below it: `{"path": [0, 1, …], "node": …}`, with nothing below in `node`."""
    todo = [([index], root) for index, root in reversed(list(enumerate(roots)))]
    while todo:
        path, node = todo.pop()
        at = "node " + ".".join(map(str, path))
        if not isinstance(node, dict):
            found = entry_or_problem(at, node)
            if isinstance(found, Problem):
                yield found
            continue
        inner = node.pop(below, None)
        yield at, {"path": path, "node": node}
        children = inner if isinstance(inner, list) else []
        todo.extend(([*path, index], child) for index, child in reversed(list(enumerate(children))))


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[Turn | Problem]:
    talk, count, branch = Talk(), 0, 0
    above: list[tuple[Any, str | None]] = []
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        value = entry[1]
        path, node = value.get("path"), value.get("node")
        path, node = path if isinstance(path, list) else [], node if isinstance(node, dict) else {}
        branch += bool(above) and len(path) <= len(above)
        del above[max(0, len(path) - 1) :]
        action = next((name for _, name in reversed(above[-1:]) if name), None)
        above.append((path, text(node.get("description")) if node.get("node_type") == "Action" else None))
        found = _node(node, action, talk) if node else []
        about: dict[str, Any] = {"parent": _name(path[:-1]), "sounding": branch or None}
        found = [(replace(turn, **about), where) for turn, where in found] or [(Turn(0, "event", **about), None)]
        yield from numbered(count, value, found)
        count += 1


def _name(path: list[Any]) -> str | None:
    return ".".join(map(str, path)) or None


def _node(node: dict[str, Any], action: str | None, talk: Talk) -> list[Found]:
    kind, said = node.get("node_type"), text(node.get("description"))
    where = ("node", "description")
    if kind is None and "role" in node:
        return _message(node, talk)
    if kind == "Thought" and said is not None:
        return turns_of([Piece("text", said, where)], "assistant", talk)
    if kind == "Action Input" and (said is not None or action):
        return _input(node, said, action, talk)
    return [(Turn(0, "event", raw=said, role=text(kind), agent=said if kind == "Action" else None), where)]


def _input(node: dict[str, Any], said: str | None, action: str | None, talk: Talk) -> list[Found]:
    """The arguments of the action above, and what the tool answered."""
    failure = text(node.get("observation")) if node.get("observation_code") == _BAD_INPUT else None
    call = {"name": action, "arguments": said}
    found = turns_of([Piece("call", said, ("node", "description"), action, None, call, failure)], "assistant", talk)
    observed = text(node.get("observation"))
    return [*found, *(turns_of([Piece("result", observed, None, action)], "tool", talk) if observed else [])]


def _message(node: dict[str, Any], talk: Talk) -> list[Found]:
    role, message = text(node.get("role")), node.get("message")
    if role == "tool" and isinstance(call := _from_repr(message) or _cut_repr(message), dict) and "arguments" in call:
        name, arguments, answer = text(call.get("name")), call["arguments"], call.get("response")
        raw = arguments if isinstance(arguments, str) else as_json(arguments)
        said = [Piece("call", raw, None, name, None, call)]
        if answer is not None:
            said.append(Piece("result", answer if isinstance(answer, str) else as_json(answer), None, name))
        return turns_of(said, "assistant", talk)
    if isinstance(message, str):
        return turns_of([Piece("text", message, ("node", "message"))], role, talk)
    return turns_of([] if message is None else [Piece("text", as_json(message))], role, talk)


def _cut_repr(value: Any) -> dict[str, Any] | None:
    """The call of a repr that was cut off behind its arguments, as published chains are (at 100 characters)."""
    match = _CUT.match(value) if isinstance(value, str) and len(value) <= _LONGEST_REPR else None
    if match is None:
        return None
    name, arguments = _from_repr(match["name"]), _from_repr(match["arguments"])
    return {"name": name, "arguments": arguments, "response": match["response"] or None}


def _from_repr(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or value[:1] not in ("{", "'", '"') or len(value) > _LONGEST_REPR:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
