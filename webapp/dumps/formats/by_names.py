"""JSON of no known shape that is read by the names of its keys: requests with their responses, or what was said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from webapp.dumps.base import Conversation, DumpHead, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.mappings import are_labels, is_crowded
from webapp.dumps.messages.bodies import answer, is_again, is_answer, is_served, said_turns
from webapp.dumps.messages.exchanges import failure_turns, or_failure
from webapp.dumps.messages.histories import Histories
from webapp.dumps.messages.http import HttpExchange, http_turns
from webapp.dumps.messages.langchain import is_message
from webapp.dumps.messages.named_texts import KEYED, NamedText, is_derived, is_said, named_texts
from webapp.dumps.messages.streams import is_body, parsed_body
from webapp.dumps.messages.turns import each_filled, event_turns, filled, message_turns, spent, with_once, with_usage
from webapp.dumps.programs import answerless
from webapp.dumps.records import Entry, Problem, Turn
from webapp.dumps.session_keys import found_keys, rank_of
from webapp.dumps.told_texts import MODEL_NAMED, OF_MODEL, SPEAKS, model_of
from webapp.dumps.values import WORDS, are_messages, as_list, as_object, first_moment, is_model, is_speech

_REQUESTS, _RESPONSES, _BESIDE_MESSAGES, _USUAL = (
    tuple(WORDS[key].split()) for key in ("requests", "responses", "beside_messages", "usual")
)
_BODY_KEYS = {*WORDS["in_bodies"].split()}
_TIMES = ("timestamp", "ts", "time", "created_at", "created", "date", "started_at", "start_time")


class Sides(NamedTuple):
    """Where an entry has its request and its response: the object that holds both, and their keys."""

    holder: dict[str, Any]
    request: str
    response: str


class ExchangePairs(Format):
    called = "exchange_pairs"
    shapes = 'a request and its response under any names {"req", "resp"} (or "in", "out"; "call", "result"), one a line'
    surest = 73
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        if head.shape not in ("lines", "array", "object", "parquet"):
            return 0
        best = max(map(_score, head.objects), default=0)
        fitting = sum(bool(_every(value)) for value in head.objects)  # a call that failed has no response
        return best if 2 * fitting >= len(head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if not (every := _every(entry)):
            conversation.notes.append("no request with its response is here; kept as an event")
        return [turn for sides in every for turn in self._exchanged(entry, sides, conversation)]

    def _exchanged(self, entry: dict[str, Any], sides: Sides, conversation: Conversation) -> list[Turn]:
        """The turns of one of an entry's exchanges."""
        holder, response = sides.holder, sides.holder.get(sides.response)
        request = holder[sides.request]
        if isinstance(request, str) and parsed_body(request) is None:  # a prompt is no history that grows
            conversation.histories = Histories()
        http = HttpExchange("", _as_body(request), response, plain=isinstance(response, str))
        turns = or_failure(holder, http_turns(http, conversation), sides.response, conversation)
        turns = with_once(turns, {} if isinstance(response, dict) else spent(holder.get("usage") or holder))
        when = first_moment(holder, *_TIMES) or first_moment(entry, *_TIMES)
        turns = each_filled(turns, sent_at=when)
        model = model_of(holder, ()) or model_of(entry, ())
        return [filled(turn, model=model) if turn.written_by_model else turn for turn in turns]


def _every(value: dict[str, Any]) -> list[Sides]:
    """Those of an entry, or of each object in it that has them under the keys under which the first has them."""
    found = [sides for inner in value.values() if isinstance(inner, dict) and (sides := _beside(inner))]
    own = _beside(value)
    return [own] if own else [sides for sides in found if sides[1:] == found[0][1:]]


def _beside(holder: dict[str, Any]) -> Sides | None:
    """The request and the response that stand beside each other in an object."""
    request = next((key for key in _REQUESTS if holder.get(key)), None)
    response = next((key for key in _RESPONSES if key in holder and key != request), None)
    if request and response is None and are_messages(holder.get(request)):
        response = next((key for key in _BESIDE_MESSAGES if key in holder), None)
    response = response or ("message" if isinstance(holder.get("message"), dict) else None)
    if request is not None and (response is not None or holder.get("error")):
        return Sides(holder, request, response or _RESPONSES[0])
    return None


def _score(value: dict[str, Any]) -> int:
    """What openai.py reads as it stands is left to it: it knows fewer names, and more of them."""
    sides = next(iter(_every(value)), None)
    if sides is None or "role" in value or (value.keys() & KEYED and sides.response in ("answer", "result", "output")):
        return 0
    request, response = sides.holder[sides.request], sides.holder.get(sides.response)
    if _is_strong(response):
        return 45 if sides.holder is value and _is_usual(sides, request) else 73
    has_prompt = isinstance(request, str) or are_messages(request) or are_messages(as_object(request).get("messages"))
    if is_served(request, response) or not has_prompt or sides.holder is not value:
        return 0
    if response is None and sides.response in _BESIDE_MESSAGES and are_messages(request):
        return 0 if any(message["role"] == "assistant" for message in request) else 61
    if isinstance(response, str) and response:
        if sides.response in ("output", "answer", "result", "out") and " " not in f"{request}{response}".strip():
            return 0  # what goes in and comes out of anything, as numbers
        return 61 if are_messages(request) and sides.response != "response" else 38
    samples = as_list(response)  # several answers to one request
    return 61 if samples and all(isinstance(item, str) and item for item in samples) else 0


def _is_usual(sides: Sides, request: Any) -> bool:
    if sides.response not in _USUAL:
        return False
    is_object = isinstance(json_or_none(request) if isinstance(request, str) else request, dict)
    return sides.request == "request" or (sides.request in ("messages", "input", "prompt") and not is_object)


def _is_strong(response: Any) -> bool:
    """Whether this is what a provider answered, as it came, as text, or in a stream's pieces."""
    messages = [as_object(item).get("message") for item in as_list(response)]
    if is_body(response) or is_message(response) or are_messages(messages):
        return True
    body = parsed_body(response) if isinstance(response, dict | list) else None
    return isinstance(body, dict) and bool(body.keys() & _BODY_KEYS) and is_answer(body)


def _as_body(request: Any) -> Any:
    """A request as a body: a text that is no JSON is the prompt, a list are the messages."""
    if isinstance(request, list):
        return {"messages": request}
    return {"prompt": request} if isinstance(request, str) and parsed_body(request) is None else request


_SURE, _OF_CALLS = 5, 15
"""less than of any format that knows what it reads; more than of chats, where texts answer lists of messages"""
_SENTENCE = 20
_AT_WORK = ("assistant", "call", "result", "thinking")
_ASKED = {"question", "query", "prompt", "user_input", "user_message", "user_query"}
"""keys beside which a call is a model's"""
_SHOWN = 50
"""items of a list that show whether answers are in it"""


class NamedAnswers(Format):
    called = "named_answers"
    shapes = 'any JSON whose keys name what a model answered ("llm_output", "bot_reply", "generated_text")'
    surest = _OF_CALLS
    read_by = "no known shape: answers are read by the {}; else use --map raw=…"
    times = _TIMES
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        """Most of the samples that say something hold an answer, and one of them a sentence."""
        if head.shape not in ("object", "array", "lines", "parquet") or answerless(head.told) is not None:
            return 0
        named = [list(named_texts(value, most=_SHOWN)) for value in head.objects]
        every = [[text for text in texts if text.side in _AT_WORK] for texts in named]
        found = [text for answers in every for text in answers]
        sides = {text.side for text in found}
        asked = any(text.side == "user" and not _ASKED.isdisjoint(text.path[-1:]) for text in chain(*named))
        asked |= any(value.keys() & _ASKED for value in head.objects)
        spoken = sides & {"assistant", "thinking"}
        is_called = len(spoken) > 1 or ("call" in sides and (asked or spoken))
        is_of_model = any(map(_is_asked, chain(*named))) or MODEL_NAMED.search(head.text) is not None
        is_word = is_of_model and any(OF_MODEL.search(_place(text)) for text in found)
        is_word |= any(is_model(str(step)) for text in found for step in text.path[-1:])
        speaking = any(map(_is_sentence, found)) or is_called or is_word
        is_most = 2 * sum(map(bool, every)) >= len(every) or sum(map(bool, every)) == sum(map(bool, named)) > 1
        is_most |= any(text.side == "assistant" and is_answer(text.value) for text in found)  # as it came, among events
        last = {text.path[:-2]: text.side for text in chain(*named) if isinstance(text.value, dict)}
        asked_at = {at for at, side in last.items() if side == "user"}
        is_beside = any(at.path[1:] and at.path[:-1] in asked_at and isinstance(at.value, str) for at in found)
        sure = _OF_CALLS if is_beside and head.shape == "object" else _SURE
        if all(is_said(text.path) for text in found) and not SPEAKS.search(head.text):
            return 0
        if head.shape == "object" and not is_of_model and are_labels(head.document):
            return 0
        return sure if speaking and is_most and not is_crowded(head, sum(map(len, named))) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        """By the sessions that stand within a document, where its records name them."""
        for session in super().sessions(source, head):
            is_document = head.shape == "object" and self.session_key is None
            entries = list(session.entries) if is_document and isinstance(session, SessionEntries) else []
            parts = [part for entry in entries if isinstance(entry, tuple) for part in _parts(entry[1])]
            yield from (entry for entry in entries if isinstance(entry, Problem) and len(parts) > 1)
            yield from parts if len(parts) > 1 else [session]

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        entry_texts = list(_once(_spoken(_as_written(list(named_texts(entry))))))
        turns = [
            filled(turn, model=model_of(entry, named_text.path)) if turn.written_by_model else turn
            for named_text in entry_texts
            for turn in named_turns(named_text, conversation)
            if not is_again(turn, f"{entry.get('type', entry.get('event'))} {_place(named_text)}", conversation)
        ]
        conversation.names.update(
            _place(named) or "tool" for named in entry_texts if named.side in ("assistant", "call")
        )
        turns = with_usage(turns, entry.get("usage") or entry)
        if isinstance(entry.get("error"), str) and "assistant" not in {named.side for named in entry_texts}:
            turns += failure_turns(entry, "response", conversation)
        return turns


def _parts(document: dict[str, Any]) -> list[SessionEntries]:
    """The sessions of a document, where one list of records that name them says something, or {id: [record, …]} do."""
    lists = {key: as_list(inner) for key, inner in document.items() if any(named_texts({key: inner}))}
    around = {key: inner for key, inner in document.items() if not isinstance(inner, list | dict)}
    parts: dict[str, list[Entry]] = {}
    for key, items in lists.items():
        named = [
            min(found_keys(as_object(item)), key=lambda pair: rank_of(pair[0]), default=("", "")) for item in items
        ]
        by_key = len(lists) > 1 and any(map(str.isdigit, key)) and all(any(named_texts(item)) for item in items)
        is_named = len(lists) == 1 and all(rank_of(path) < rank_of("trace_id") for path, _ in named)
        if not items or not (by_key or is_named):
            return []
        for number, item in enumerate(items):
            parts.setdefault(key if by_key else named[number][1], []).append((f"{key}[{number}]", item))
    rest = {key: inner for key, inner in document.items() if inner and key not in lists and key not in around}
    first = next(iter(parts.values()), [])
    first[:0] = [("the document", rest)] if rest else []  # what is in it is said to be in no turn
    return [SessionEntries(name, part, extra=around) for name, part in parts.items()]


def _spoken(entry_texts: Iterable[NamedText]) -> list[NamedText]:
    """Without what a log says of a call in a line, where it says what was asked beside that."""
    every = list(entry_texts)
    lines = [named_text for named_text in every if named_text.path and named_text.path[-1] in ("message", "msg")]
    asked = [named_text for named_text in every if named_text.side == "user" and named_text not in lines]
    return [named_text for named_text in every if not asked or named_text.side != "user" or named_text not in lines]


def _as_written(entry_texts: list[NamedText]) -> list[NamedText]:
    """Without results and the like that say nothing more than what else was answered, or no sentence beside it."""
    wholes = [named for named in entry_texts if named.side == "assistant" and not is_derived(named.path)]
    written = "\n".join(str(as_object(named.value).get("content", named.value)) for named in wholes)
    return [
        named
        for named in entry_texts
        if named.side != "assistant"
        or not (wholes and isinstance(named.value, str) and is_derived(named.path))
        or (named.value.strip() not in written and is_speech(named.value))
    ]


def _once(entry_texts: Iterable[NamedText]) -> Iterator[NamedText]:
    """Without what stands under another name, too: what was asked, or an answer in a list or as a message as well."""
    seen: dict[tuple[str, str], NamedText] = {}
    for named_text in entry_texts:
        said = _said(named_text)
        if isinstance(said, str) and named_text.side != "result":
            first = seen.setdefault((named_text.side, said), named_text)
            is_listed = named_text.path[:-2] == first.path[:-1] or first.path[:-2] == named_text.path[:-1]
            is_other = is_listed or isinstance(first.value, str) is not isinstance(named_text.value, str)
            if _place(first) != _place(named_text) and (named_text.side != "assistant" or is_other):
                continue
        yield named_text


def _said(named_text: NamedText) -> Any:
    """The text that says something, of a message its content, of a call its arguments; else the body."""
    value = named_text.value
    return json.dumps(value, sort_keys=True) if named_text.side == "call" else as_object(value).get("content", value)


def _is_sentence(named_text: NamedText) -> bool:
    value = named_text.value if named_text.side == "assistant" else as_object(named_text.value).get("content", "")
    spaced = isinstance(value, str) and len(value) >= _SENTENCE and " " in value.strip()
    return spaced or not isinstance(value, str) or "\n" in value.strip(" ") or is_speech(value)


def _is_asked(named_text: NamedText) -> bool:
    """Whether it is a question, or is called so and speaks."""
    is_called_so = named_text.path[-1:] == ("question",) and is_speech(str(named_text.value))
    return is_called_so or (named_text.side == "user" and str(named_text.value).strip().endswith(("?", "？")))


def _place(named_text: NamedText) -> str:
    """The path of an answer, whatever its number in a list."""
    return ".".join(str(step) for step in named_text.path if isinstance(step, str))[:80]


def named_turns(named_text: NamedText, conversation: Conversation) -> list[Turn]:
    """What stands under a name: a text, a message, or a provider's body."""
    if named_text.side == "thinking":
        return event_turns("thinking", named_text.value)
    if isinstance(named_text.value, str):
        return said_turns(named_text.value, conversation, named_text.side)
    if isinstance(named_text.value, dict) and "role" in named_text.value:
        return message_turns(named_text.value, conversation)
    return answer(named_text.value, conversation)


plugins = (ExchangePairs(), NamedAnswers())
