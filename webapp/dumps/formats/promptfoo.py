"""Results of evaluations: promptfoo's, BFCL's and lm-evaluation-harness' samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import inner_list, objects
from webapp.dumps.messages.pieces import Path, Piece, call, text_or_json
from webapp.dumps.messages.turns import (
    each_filled,
    each_with,
    error_turns,
    event_turns,
    text_turns,
    turns_of,
    with_usage,
)
from webapp.dumps.sessions import entries_of
from webapp.dumps.values import as_list, as_object, first_id, first_text, id_text, text, whole

_API_ERROR = 2


class PromptFoo(Format):
    shapes = 'promptfoo eval --output FILE {"results": {"results": […]}}'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            inner = head.document.get("results")
            if isinstance(inner, dict):
                return 95 if isinstance(inner.get("results"), list) else 0
            if _is_result(head.first_of("results")) or _is_result(head.document):
                return 95
            return 90 if all(map(head.mentions, ("results", "promptIdx", "testCase"))) else 0
        return 93 if head.objects and all(map(_is_result, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        name = first_id(head.members, "evalId") or source.stem
        yield SessionEntries(name, _results(source, head))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        response = as_object(entry.get("response"))
        conversation.model = first_text(entry.get("provider"), "id", "label") or text(entry.get("provider"))
        turns = _prompt(text(as_object(entry.get("prompt")).get("raw")), conversation)
        output, error = response.get("output"), text(response.get("error"))
        if output is not None:
            answers = _answer(output, conversation)
            usage = as_object(response.get("tokenUsage"))
            counts = {"input": usage.get("prompt"), "output": usage.get("completion")}
            turns += with_usage(answers, counts, response.get("cost", entry.get("cost")))
        if error is None and entry.get("failureReason") in ((None, _API_ERROR) if output is None else (_API_ERROR,)):
            error = text(entry.get("error"))
        if output is None and error is None:
            conversation.notes.append("the result has no output and no error")
        return [*turns, *error_turns(error, "provider")] if error is not None else turns


def _is_result(value: dict[str, Any]) -> bool:
    return isinstance(value.get("prompt"), dict) and "provider" in value and "vars" in value


def _results(source: Source, head: DumpHead) -> Entries:
    if head.shape == "object" and "results" in head.items:
        return objects(inner_list(source.text(), "", "results"), "results")
    if head.shape == "object" and not _is_result(head.document):
        return objects(inner_list(source.text(), "results", "results"), "results.results")
    return entries_of(source, head)


def _prompt(raw: str | None, conversation: Conversation) -> list[PlacedTurn]:
    """What was asked: a text, or messages as JSON text."""
    if raw is None:
        return []
    messages = json_or_none(raw) if raw.lstrip()[:1] == "[" else None
    if isinstance(messages, list) and messages and all(isinstance(item, dict) and "role" in item for item in messages):
        spoken = [(text(message["role"]), text_or_json(message.get("content"), ())[0]) for message in messages]
        return [placed for role, said in spoken for placed in text_turns(said or "", None, role, conversation)]
    return text_turns(raw, ("prompt", "raw"), "user", conversation)


def _answer(output: Any, conversation: Conversation) -> list[PlacedTurn]:
    """A text; what promptfoo parsed as JSON; or calls."""
    calls = output if isinstance(output, list) else []
    if calls and all(isinstance(item, dict) and isinstance(item.get("function"), dict) for item in calls):
        pieces = [call(item, ("response", "output", index)) for index, item in enumerate(calls)]
        return turns_of(pieces, "assistant", conversation)
    raw, path = text_or_json(output, ("response", "output"))
    return text_turns(raw or "", path, "assistant", conversation)


_ERROR = "Error during inference"
_KEYS = {"input_token_count", "output_token_count", "latency", "inference_log", "inference_input_log"}
_SCORED = "model_result_raw"
"""what a score file calls the result of an item that was judged wrong"""
_DEEPEST = 10


class Bfcl(Format):
    called = "bfcl"
    shapes = 'BFCL\'s results {"id", "result", "input_token_count"} one a line'
    session_field = None

    def sniff(self, head: DumpHead) -> int:
        results = [item for item in head.objects if "accuracy" not in item]  # the first line of a score file
        if results and all(_SCORED in item for item in results):
            return 90
        have_ids = all("result" in item and item.keys() & {"id", "idx"} for item in head.objects)
        return 90 if have_ids and any(not _KEYS.isdisjoint(item) for item in head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        key = _SCORED if _SCORED in entry else "result"
        if (key in entry and entry[key] is None) or _holds_null(entry.get(key)):
            conversation.notes.append(f"null is under {key!r} where a model's answer should")
        turns = list(_answers(entry.get(key), (key,), conversation)) or event_turns()
        counts = {"input": entry.get("input_token_count"), "output": entry.get("output_token_count")}
        single = {name: total for name, value in counts.items() if (total := _total(value)) is not None}
        name = id_text(entry.get("id")) or id_text(entry.get("idx"))
        return each_filled(with_usage(turns, single), phase=name)


def _holds_null(value: Any) -> bool:
    """Whether a list, or one within it, has null for an answer."""
    return isinstance(value, list) and any(inner is None or _holds_null(inner) for inner in value)


def _total(value: Any) -> int | None:
    """A count, or the sum of those of several turns and steps."""
    if not isinstance(value, list):
        return whole(value)
    counts = [count for inner in value if (count := _total(inner)) is not None]
    return sum(counts) if counts else None


def _answers(value: Any, at: Path, conversation: Conversation) -> Iterator[PlacedTurn]:
    """A text is an answer, an object holds calls, a list holds either, turn by turn."""
    if isinstance(value, str):
        failed = value.startswith(_ERROR)
        yield from error_turns(value, "provider", at) if failed else text_turns(value, at, "assistant", conversation)
    elif isinstance(value, dict):
        if not value:
            conversation.notes.append("an empty object where a call should be")
        for name, arguments in value.items():
            call = {"name": name, "arguments": arguments}
            piece = Piece.of_call(arguments, (*at, name), name, None, call)
            yield from turns_of([piece], "assistant", conversation)
    elif isinstance(value, list) and len(at) < _DEEPEST:
        for index, inner in enumerate(value):
            yield from _answers(inner, (*at, index), conversation)


@dataclass(slots=True)
class _Samples(Conversation):
    first: dict[tuple[str | None, int], int] = field(default_factory=dict)
    """the entry in which a document's answers came first; each filter repeats them"""


class LmEval(Format):
    called = "lm_eval"
    shapes = 'lm_eval --log_samples {"doc_id", "arguments", "resps", "filter"} one a line'
    session_field = None
    conversation_type = _Samples

    def sniff(self, head: DumpHead) -> int:
        return 94 if head.all_have("doc_id", "resps", "arguments") else 0

    def read_entry(self, entry: dict[str, Any], conversation: _Samples) -> list[PlacedTurn]:
        turns = _asked(entry, conversation)
        for outer, listed in enumerate(as_list(entry.get("resps"))):
            for index, raw in enumerate(listed if isinstance(listed, list) else [listed]):
                if isinstance(raw, str):
                    path: Path = ("resps", outer, index) if isinstance(listed, list) else ("resps", outer)
                    turns += text_turns(raw, path, "assistant", conversation)
        if not any(turn.kind == "response" for turn, _ in turns):  # likelihoods of given answers
            if not any(isinstance(number, float | int) for number in _flat(entry.get("resps"))):
                conversation.notes.append("neither an answer nor a likelihood under 'resps'")
            return [*turns, *event_turns("likelihood")]
        key = (id_text(entry.get("doc_id")), hash(tuple(turn.raw for turn, _ in turns)))
        first = conversation.first.setdefault(key, conversation.entry)
        return turns if first == conversation.entry else each_with(turns, duplicate_of=first)


def _flat(value: Any) -> Iterator[Any]:
    """What lists within lists hold."""
    for inner in as_list(value):
        yield from _flat(inner) if isinstance(inner, list) else (inner,)


def _asked(entry: dict[str, Any], conversation: _Samples) -> list[PlacedTurn]:
    arguments = as_object(as_object(entry.get("arguments")).get("gen_args_0"))
    if raw := text(arguments.get("arg_0")):
        return text_turns(raw, ("arguments", "gen_args_0", "arg_0"), "user", conversation)
    listed = as_list(next(iter(as_list(entry.get("arguments"))), None))
    prompts = [raw for raw in listed[:1] if isinstance(raw, str)]
    return [placed for raw in prompts for placed in text_turns(raw, ("arguments", 0, 0), "user", conversation)]


plugins = (PromptFoo(), Bfcl(), LmEval())
