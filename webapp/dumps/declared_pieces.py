"""The parts of a declared format: a tree's messages as entries, and what an entry says within turns, as pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from webapp.dumps.decoding import opened
from webapp.dumps.json_path import at, holds
from webapp.dumps.messages.calls import call as provider_call
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Piece, block, content, joined, text_or_json
from webapp.dumps.records import Entry, Problem
from webapp.dumps.source import entry_or_problem
from webapp.dumps.values import as_list, as_object, id_text, text

Part = dict[str, Any]
_SAYING = ("each", "thinking", "text", "join", "content", "block", "json", "calls", "call", "result", "unread")


def items_at(entry: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """The items of a list, or of its JSON text; an object alone is one.

    What is no object is the `item` of one. A path that ends with `[*]` leads to an object's members, each a `key` and a
    `value`.
    """
    listed = at(entry, path.removesuffix("[*]") or ".")[0]
    if path.endswith("[*]"):
        yield from ({"key": key, "value": value} for key, value in as_object(listed).items())
        return
    if isinstance(listed, dict):
        yield listed
    yield from (item if isinstance(item, dict) else {"item": item} for item in as_list(opened(listed)))


def said_pieces(say: list[Part], entry: dict[str, Any], notes: list[str], called: set[str]) -> list[Piece]:
    """What an entry says, part by part: those with `unless_said` only where none, or none of a kind, came before."""
    pieces: list[Piece] = []
    for part in say:
        kind = part.get("unless_said")
        is_said = any(piece.text and kind in ("", piece.kind) for piece in pieces) or (kind == "" and bool(pieces))
        if (kind is not None and is_said) or not holds(entry, part.get("when")):
            continue
        pieces += _pieces(next(key for key in part if key in _SAYING), part, entry, notes, called)
    return pieces


def _pieces(kind: str, part: Part, entry: dict[str, Any], notes: list[str], called: set[str]) -> list[Piece]:
    if kind == "each":
        return _of_each(part, entry, notes, called)
    if kind == "unread":
        return [Piece("unread", part[kind])]
    if kind == "calls":
        holder, _, key = part[kind].rpartition(".")
        listed = listed_calls(as_object(at(entry, holder)[0]) if holder else entry, key, notes)
        return [provider_call(item) if "provider" in part else _call(item, part, called) for item in listed]
    if kind == "join":
        return [Piece("text", "\n".join(words for key in part[kind].split("+") if (words := text(at(entry, key)[0]))))]
    value = at(entry, part[kind])[0]
    if kind == "content":
        return content(value)
    if kind == "block":
        return list(block({part["wrapped"]: value}) if "wrapped" in part else block(value))
    if kind == "call" and value is not None:
        before = set(called) if "unless_called" in part else set()
        call = _call(as_object(value), part, called)
        return [] if call.id in before else [call]
    if kind == "result" and value is not None:
        return [result_piece(part, entry)]
    if kind == "json" and value is not None:
        return [Piece("text", text_or_json(value))]
    if kind in ("text", "thinking") and isinstance(value, str) and (value or "empty" in part):
        begin = next((begin for begin in part.get("without", ()) if value.startswith(begin)), "")
        return [Piece("text" if kind == "text" else "thinking", value[len(begin) :])]
    return []


def _of_each(part: Part, entry: dict[str, Any], notes: list[str], called: set[str]) -> list[Piece]:
    """What the items of a list say; with `as` it is one text of that kind."""
    pieces = [
        piece for item in items_at(entry, part["each"]) for piece in said_pieces(part["say"], item, notes, called)
    ]
    raw = joined(pieces) if "as" in part else None
    if raw is None:
        return pieces
    name, ident = _named(part, entry)
    call = {"name": name, "arguments": raw} if part["as"] == "call" else None
    return [Piece(part["as"], raw, name, ident, call)]


def _named(part: Part, holder: dict[str, Any]) -> tuple[str | None, str | None]:
    """The name and the id of a call, or of what it came to; several parts of a name are put together."""
    names = (text(at(holder, path)[0]) for path in part.get("name", "").split("+") if path)
    name, ident = ".".join(filter(None, names)), id_text(at(holder, part.get("id"))[0])
    return name or part.get("called"), ident or None


def result_piece(part: Part, entry: dict[str, Any]) -> Piece:
    """What a tool answered, an error where `is_error` holds; with `blocks` a list of them is the text they hold."""
    value = at(entry, part["result"])[0]
    name, ident = _named(part, entry)
    failure = text_or_json(at(entry, part.get("failed"))[0])
    is_error = True if "is_error" in part and holds(entry, part["is_error"]) else None
    if "blocks" in part and isinstance(value, list):
        value = joined(content(value))
    return replace(Piece.of_result(value, name, ident), failure=failure, is_error=is_error)


def _call(call: dict[str, Any], part: Part, called: set[str]) -> Piece:
    """A call; `made` makes one as providers write it of what has other names."""
    name, ident = _named(part, call)
    arguments = at(call, part.get("args", "arguments|args|input"))[0]
    failure = part.get("cut") or text_or_json(at(call, part.get("failed"))[0])
    if "made" in part:
        built = {"id": ident, "type": part["made"] or None, "name": name, "arguments": arguments}
        call = {key: value for key, value in built.items() if value is not None}
    else:
        call = {**call, "name": name} if "named" in part else dict(call)
    if "bare" in part and not arguments:  # it writes an empty text where none came
        arguments, call = arguments or "", {**call, "without_arguments": True}
    if ident:
        called.add(ident)
    return Piece.of_call(arguments, name, ident, call, failure)


def tree_entries(
    at: str, nodes: dict[str, Any], called: str, parent_key: str, children_key: str
) -> Iterator[Entry | Problem]:
    """The messages of a tree as entries, depth first, and what is wrong with it; `called` is the tree's own key."""
    yield from _missing_children(at, nodes, children_key)
    for ident, node in _depth_first(nodes, parent_key, children_key):
        yield entry_or_problem(f"{at}, {called}[{ident!r}]", node)


def _depth_first(nodes: dict[str, Any], parent_key: str, children_key: str) -> Iterator[tuple[str, Any]]:
    """The nodes of a tree by their ids, each before those below it, in the order of the children that it names."""
    below: dict[str | None, list[str]] = {}
    for ident, node in nodes.items():
        parent = id_text(as_object(node).get(parent_key))
        below.setdefault(parent if parent in nodes else None, []).append(ident)
    waiting, passed = list(reversed(below.get(None, []))), set[str]()
    while waiting:
        ident = waiting.pop()
        if ident in passed:
            continue
        passed.add(ident)
        node = nodes[ident]
        yield ident, node
        children = [name for child in as_list(as_object(node).get(children_key)) if (name := id_text(child)) in nodes]
        waiting.extend(reversed(list(dict.fromkeys([*(str(name) for name in children), *below.get(ident, [])]))))
    yield from ((ident, node) for ident, node in nodes.items() if ident not in passed)


def _missing_children(at: str, nodes: dict[str, Any], children_key: str) -> Iterator[Problem]:
    """What to say of messages that others name as those below them, and that are not there."""
    child_ids = (id_text(child) for node in nodes.values() for child in as_list(as_object(node).get(children_key)))
    missing = list(dict.fromkeys(name for name in child_ids if name is not None and name not in nodes))
    if missing:
        count = f"{len(missing):,} messages are" if len(missing) > 1 else "a message is"
        yield Problem(at, f"{count} not there that others name as what follows them ({missing[0][:80]!r})")


def preferred(about: dict[str, Any], keys: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Answers beside a list, of which the first was preferred: texts, messages or lists of them, each on a branch."""
    for number, key in enumerate(keys, start=1):
        value = about.get(key)
        for item in as_list(value) or ([] if value is None else [value]):
            message = item if isinstance(item, dict) else {"role": "assistant", "value": item}
            yield {**message, "preference": number}
