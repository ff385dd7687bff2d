"""What frameworks for agents keep: events of OpenHands, recordings, states and messages of AutoGen."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps import json_path
from webapp.dumps.archive_members import zip_objects
from webapp.dumps.base import DumpHead, Entries, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import entries_of, nested
from webapp.dumps.json_path import holds
from webapp.dumps.messages.bodies import answer
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.pieces import as_json
from webapp.dumps.messages.requests import noted_answers
from webapp.dumps.messages.turns import event_turns, with_usage
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import each_session, spilled
from webapp.dumps.source import entry_or_problem
from webapp.dumps.values import as_list, as_object, id_text, text

_EVENT = (
    "source kind=MessageEvent|ActionEvent|ObservationEvent|AgentErrorEvent|SystemPromptEvent|Condensation"
    "|CondensationRequest|PauseEvent|ConversationStateUpdateEvent|UserRejectObservation|ConversationErrorEvent"
    " or action|observation source|args|content|tool_call_metadata|message"
)
_EVENT_FILE = re.compile(r"(?:^|/)events/(?:event-)?\d{1,18}(?:\D[^/]*)?\.json$")
"""an event in a file of its own, which its number begins"""
_NUMBER = re.compile(r"\d+")
_CONTEXT = "agent_state.llm_context.messages|llm_context.messages"


@dataclass(slots=True)
class _Events(Declaring):
    responses: set[str] = field(default_factory=set)
    """the model responses that were read; each event of a call repeats its own"""


class OpenHands(Declared):
    conversation_type = _Events

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "zip":
            return 91 if sum(bool(_EVENT_FILE.search(name)) for name in head.names) * 2 > len(head.names) else 0
        if head.shape == "object" and holds(head.first_of("trajectory"), _EVENT):
            return 94
        if head.objects and all(isinstance(item.get("history"), list) for item in head.objects):
            listed = (event for item in head.objects for event in item["history"][:5])
            return 92 if any(holds(event, _EVENT) for item in listed for event in _flat(item)) else 0
        return 92 if head.objects and sum(holds(item, _EVENT) for item in head.objects) * 2 > len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "zip":
            return _event_files(source)
        if "trajectory" not in head.items and any("history" in item for item in head.objects):
            return each_session(entries_of(source, head), source.stem, self._history)
        return super().sessions(source, head)

    def _history(self, fallback: str, at: str, value: dict[str, Any]) -> SessionEntries:
        flat = [event for item in as_list(value.pop("history", None)) for event in _flat(item)]
        return self.named(fallback, value, nested(at, "history", flat))

    def read_entry(self, entry: dict[str, Any], conversation: _Events) -> list[Turn]:  # type: ignore[override]
        """An event; those of older versions repeat the response that they are of."""
        metadata = as_object(entry.get("tool_call_metadata"))
        response = as_object(metadata.get("model_response"))
        if "observation" in entry and "kind" not in entry:
            return [*_response(response, conversation), *super().read_entry(entry, conversation)]
        if response := response or as_object(entry.get("model_response")):
            turns = _response(response, conversation)
            if turns and not any(
                turn.kind == "response" and turn.raw for turn in turns
            ):  # its action says it, a thought
                said = [turn for turn in super().read_entry(entry, conversation) if turn.kind == "response"]
                turns = [*said, *(turn for turn in turns if turn.kind != "response")] if said else turns
            return turns or event_turns(text(entry.get("action")))
        return super().read_entry(entry, conversation)


def _flat(item: Any) -> list[Any]:
    """An event; older outputs have pairs of an action and what came of it."""
    return item if isinstance(item, list) else [item]


def _response(response: dict[str, Any], conversation: _Events) -> list[Turn]:
    """A model's whole answer, the first time that its id comes."""
    ident = id_text(response.get("id")) or as_json(response)
    if not response or ident in conversation.responses:
        return []
    conversation.responses.add(ident)
    conversation.model = text(response.get("model")) or conversation.model
    return answer(response, conversation)


def _event_files(source: Source) -> Sessions:
    """A session for each folder with files of events."""
    with spilled() as events:
        for entry in zip_objects(source, _EVENT_FILE, "not an event; it was left out"):
            if isinstance(entry, Problem):
                yield entry
                continue
            *folders, name = (part for part in entry[0].split("/") if part != "events")
            events.put(folders[-1] if folders else source.stem, int(_NUMBER.findall(name)[0]), *entry)
        yield from (SessionEntries(name, entries) for name, entries in events.sessions())


_AUTOGEN_ROLES = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}


class AutoGen(Declared):
    def sniff(self, head: DumpHead) -> int:
        return 92 if _is_state(head) else super().sniff(head)

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if not _is_state(head):
            yield from super().sessions(source, head)
            return
        for entry in entries_of(source, head):
            yield entry if isinstance(entry, Problem) else SessionEntries(source.stem, _of_document(*entry))

    def _listed(self, value: dict[str, Any]) -> tuple[Any, str | None]:
        """Of records one a line: their messages are the history."""
        return None, None

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        """A message, or a record, which repeats the history: what was asked anew, and the answer."""
        if not (entry.get("mode") in ("create", "create_stream") and "messages" in entry and "response" in entry):
            return super().read_entry(entry, conversation)
        history = [_plain(message) for message in as_list(entry.get("messages")) if isinstance(message, dict)]
        response = as_object(entry.get("response"))
        turns = exchange({"messages": history}, None, conversation)
        said = super().read_entry({"type": "AssistantMessage", **response}, conversation)
        return [*turns, *with_usage(noted_answers(said, conversation), response.get("usage"))]


def _is_state(head: DumpHead) -> bool:
    return str(head.document.get("type")).endswith("State") and "version" in head.keys


def _of_document(at: str, value: dict[str, Any]) -> Entries:
    """The messages of a state: those of its agents, which a manager only repeats; else what the document lists."""
    states = as_object(value.get("agent_states"))
    if not states:
        messages = value.get("messages", as_object(value.get("llm_context")).get("messages"))
        yield from nested(at, "messages", as_list(messages))
        return
    contexts = {name: as_list(json_path.at(state, _CONTEXT)[0]) for name, state in states.items()}
    threads = {name: as_list(as_object(state).get("message_thread")) for name, state in states.items()}
    for name, messages in (contexts if any(contexts.values()) else threads).items():
        for index, message in enumerate(messages):
            entry = entry_or_problem(f"agent_states[{name!r}], messages[{index}]", message)
            yield entry if isinstance(entry, Problem) else (entry[0], {"agent": name, "message": entry[1]})


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message of a context in OpenAI's words, so that repeated ones are told."""
    calls = [call for call in as_list(message.get("content")) if isinstance(call, dict)]
    if message.get("type") == "FunctionExecutionResultMessage":
        result = calls[0] if calls else {}
        return {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("call_id")}
    role = _AUTOGEN_ROLES.get(str(message.get("type")), "user")
    if role == "assistant" and calls:
        return {"role": role, "content": None, "tool_calls": calls}
    return {"role": role, "content": message.get("content")}


plugins = (OpenHands("openhands"), AutoGen("autogen"))
