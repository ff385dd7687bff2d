"""promptfoo's results: {"results": {"results": […]}}, or a result a line: prompts, outputs, and the API's errors."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import inner_list, objects
from webapp.dumps.messages.pieces import call, text_or_json
from webapp.dumps.messages.turns import error_turns, text_turns, turns_of, with_usage
from webapp.dumps.sessions import entries_of
from webapp.dumps.values import as_object, first_id, first_text, text

_API_ERROR = 2


class PromptFoo(Format):
    shapes = 'promptfoo\'s results {"results": {"results": […]}}'

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


plugin = PromptFoo()


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
