"""What common clients make of a stream of chat completions, each by its rule, where that is not what we make of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from webapp.dumps.messages.item_streams import number, or_empty
from webapp.dumps.values import as_list, as_object

RULES = {
    "by_index": "one call an index, its names and arguments added up",
    "by_id": "one call an id; what has none goes to the call before it",
    "first_name": "one call an index: the first name stays, arguments are added up",
    "entry_a_chunk": "each chunk's call is a call of its own",
}
"""by their names in the API"""


class Call(NamedTuple):
    name: str
    arguments: str


class Reading(NamedTuple):
    """What a rule makes of an answer: its text, and its calls."""

    text: str
    calls: tuple[Call, ...]


def readings(events: Iterable[dict[str, Any]], body: Any, choice: int) -> dict[str, Reading]:
    """By rule what it makes of a choice, counted from 0, of chat completions; without those that read what `body` says.

    Nothing of other streams: of those there is one way to read them.
    """
    choices = as_list(as_object(body).get("choices"))
    deltas = list(_deltas(events, choice))
    if choice >= len(choices) or not deltas:
        return {}
    ours = _of_message(as_object(as_object(choices[choice]).get("message")))
    text = "".join(or_empty(delta.get("content")) for delta in deltas)
    text = ours.text if any(isinstance(delta.get("content"), list) for delta in deltas) else text
    pieces = [as_object(call) for delta in deltas for call in as_list(delta.get("tool_calls"))]
    each = {rule: Reading(text, tuple(_calls(pieces, rule))) for rule in RULES}
    return {rule: reading for rule, reading in each.items() if reading != ours}


def _deltas(events: Iterable[dict[str, Any]], choice: int) -> Iterable[dict[str, Any]]:
    """The deltas of the choice that came as the first, the second …: as the body has them."""
    order: dict[Any, int] = {}
    for event in events:
        for one in map(as_object, as_list(event.get("choices"))):
            if isinstance(delta := one.get("delta"), dict) and order.setdefault(number(one), len(order)) == choice:
                yield delta


def _of_message(message: dict[str, Any]) -> Reading:
    functions = [as_object(as_object(call).get("function")) for call in as_list(message.get("tool_calls"))]
    calls = (Call(or_empty(one.get("name")), or_empty(one.get("arguments"))) for one in functions)
    return Reading(or_empty(message.get("content")), tuple(calls))


def _calls(pieces: list[dict[str, Any]], rule: str) -> Iterable[Call]:
    names: dict[Any, list[str]] = {}
    arguments: dict[Any, list[str]] = {}
    last: Any = None
    for at, piece in enumerate(pieces):
        key = at if rule == "entry_a_chunk" else repr(piece.get("index"))
        if rule == "by_id":
            key = last = repr(piece["id"]) if piece.get("id") else last
        function = as_object(piece.get("function"))
        names.setdefault(key, []).append(or_empty(function.get("name")))
        arguments.setdefault(key, []).append(or_empty(function.get("arguments")))
    for key, written in names.items():
        first = next(filter(None, written), "")
        yield Call("".join(written) if rule == "by_index" else first, "".join(arguments[key]))
