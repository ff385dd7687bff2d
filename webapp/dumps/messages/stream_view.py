"""A streamed answer as it came: its chunks with what each adds, and what the rules of clients make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from webapp import jsontext
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.assembly import named, or_empty
from webapp.dumps.messages.bodies import answer as turns_of_body
from webapp.dumps.messages.http import body_of, body_text
from webapp.dumps.messages.stream_kinds import is_event, wrapped_event
from webapp.dumps.messages.streams import Answer, answers, chunks
from webapp.dumps.messages.turns import Conversation
from webapp.dumps.values import BINARY, as_list, as_object

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


def _readings(answer: Answer, raw: str) -> dict[str, Reading]:
    """By rule what it makes of the choice that says `raw`, of chat completions; without those that read what we do.

    Nothing of other streams: of those there is one way to read them.
    """
    choices = as_list(as_object(answer.body).get("choices"))
    choice = next((at for at, choice in enumerate(choices) if _says({"choices": [choice]}, raw)), 0)
    deltas = list(_deltas(answer.events, choice))
    if choice >= len(choices) or not deltas:
        return {}
    ours = _of_message(as_object(as_object(choices[choice]).get("message")))
    text = "".join(or_empty(delta.get("content")) for delta in deltas)
    text = ours.text if any(isinstance(delta.get("content"), list) for delta in deltas) else text
    pieces = [as_object(call) for delta in deltas for call in as_list(delta.get("tool_calls"))]
    pieces += [{"function": delta["function_call"]} for delta in deltas if delta.get("function_call")]
    by_rule = {rule: Reading(text, tuple(_calls(pieces, rule))) for rule in RULES}
    return {rule: reading for rule, reading in by_rule.items() if reading != ours}


def _deltas(events: Iterable[dict[str, Any]], choice: int) -> Iterable[dict[str, Any]]:
    """The deltas of the choice that came as the first, the second …: as the body has them."""
    order: dict[Any, int] = {}
    for event in events:
        for item in map(as_object, as_list(event.get("choices"))):
            delta, name = item.get("delta"), named(item, "index")
            if isinstance(delta, dict) and order.setdefault(name, len(order)) == choice:
                yield delta


def _of_message(message: dict[str, Any]) -> Reading:
    functions = [as_object(as_object(call).get("function")) for call in as_list(message.get("tool_calls"))]
    calls = (Call(or_empty(function.get("name")), or_empty(function.get("arguments"))) for function in functions)
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


MOST = 4 * 1024 * 1024
"""code points of a stream"""
_DEEPEST = 12


class Chunk(NamedTuple):
    """A chunk as it came, what it adds, and which characters of the turn's text those are; None where it adds none."""

    text: str
    adds: str
    span: tuple[int, int] | None


class StreamView(NamedTuple):
    """The chunks of the answer that a turn is of, and by rule what clients make of it where that is another thing."""

    chunks: list[Chunk]
    readings: dict[str, Reading]


def stream_view(entry: Any, raw: str) -> StreamView | None:
    """The stream in an entry that came to `raw`, a text or the arguments of a call; None where it came in no stream."""
    for texts, events in _streams(entry, _DEEPEST):
        for answer in answers(events):
            if (len(answer.events) > 1 or is_event(answer.events[0])) and _says(answer.body, raw):
                pieces = (texts[place].strip() for place in answer.places)
                rows = zip(pieces, _adds(answer), _spans(answer, raw), strict=True)
                return StreamView([Chunk(*row) for row in rows], _readings(answer, raw))
    return None


def _streams(value: Any, depth: int) -> Iterator[tuple[list[str], list[Any]]]:
    """The streams in a value, wherever they are in it: each chunk as it came, and as JSON."""
    if isinstance(value, dict) and (BINARY in value or value.get("encoding") == "base64"):
        value = body_of({"body": value}) if BINARY in value else body_text(value.get("text"), "base64")
    if isinstance(value, list) and len(value) > 1 and all(isinstance(item, str) for item in value):
        value = "".join(value)
    if isinstance(value, str):
        whole = json_or_none(value) if value[:1] in ("[", "{") and len(value) <= MOST else None
        if isinstance(whole, list):
            yield from _streams(whole, depth - 1)
        elif not isinstance(whole, dict) and len(value) <= MOST and (pieces := chunks(value)):
            yield [text for text, _ in pieces], [event for _, event in pieces]
    elif isinstance(value, list | dict) and depth > 0:
        if isinstance(value, list) and any(is_event(item) or wrapped_event(item) for item in value):
            yield [jsontext.dumps(event) for event in value], value
        for inner in value if isinstance(value, list) else value.values():
            yield from _streams(inner, depth - 1)


def _says(body: Any, raw: str) -> bool:
    """Whether a turn of a body is this text, beside what was thought in it, or has it as the arguments of a call."""
    said = [(turn.raw or "").strip() for turn in turns_of_body(body, Conversation())]
    wanted = raw.strip()
    return any(written == wanted or ("</think" in written and written.endswith(wanted)) for written in said if wanted)


def _adds(answer: Answer) -> list[str]:
    """What each event adds."""
    adds = [""] * len(answer.events)
    for pieces in answer.pieces:
        for number, piece in pieces.added:
            adds[number] += piece
    return adds


def _spans(answer: Answer, raw: str) -> list[tuple[int, int] | None]:
    """Of each event the characters of `raw` that it adds: to a text that grew, or to several of one key in a row."""
    spans: list[tuple[int, int] | None] = [None] * len(answer.events)
    by_key: dict[str, list[tuple[int, str]]] = {}
    for pieces in answer.pieces:
        by_key.setdefault(pieces.key, []).extend(pieces.added)
    in_a_row = (sorted(added, key=itemgetter(0)) for added in by_key.values())
    for added in (*(pieces.added for pieces in answer.pieces), *in_a_row):
        if (begins := "".join(piece for _, piece in added).find(raw)) < 0:
            continue
        ends = accumulate((len(piece) for _, piece in added), initial=-begins)
        for (number, _), (low, high) in zip(added, pairwise(ends), strict=True):
            if high > 0 and low < len(raw):
                spans[number] = (spans[number] or (max(low, 0),))[0], min(high, len(raw))
        break
    return spans
