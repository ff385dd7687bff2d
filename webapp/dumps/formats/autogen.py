"""AutoGen's recordings, states and messages."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, Entries, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import nested
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.requests import noted_answers
from webapp.dumps.messages.turns import with_usage
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import entries_of
from webapp.dumps.source import entry_or_problem
from webapp.dumps.values import as_list, as_object

_ROLES = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}


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


plugin = AutoGen("autogen")


def _is_state(head: DumpHead) -> bool:
    return str(head.document.get("type")).endswith("State") and "version" in head.keys


def _of_document(at: str, value: dict[str, Any]) -> Entries:
    """The messages of a state: those of its agents, which a manager only repeats; else what the document lists."""
    states = as_object(value.get("agent_states"))
    if not states:
        messages = value.get("messages", as_object(value.get("llm_context")).get("messages"))
        yield from nested(at, "messages", as_list(messages))
        return
    contexts = {name: _context(as_object(state)) for name, state in states.items()}
    threads = {name: as_list(as_object(state).get("message_thread")) for name, state in states.items()}
    for name, messages in (contexts if any(contexts.values()) else threads).items():
        for index, message in enumerate(messages):
            entry = entry_or_problem(f"agent_states[{name!r}], messages[{index}]", message)
            yield entry if isinstance(entry, Problem) else (entry[0], {"agent": name, "message": entry[1]})


def _context(state: dict[str, Any]) -> list[Any]:
    inner = as_object(state.get("agent_state")) or state
    return as_list(as_object(inner.get("llm_context")).get("messages"))


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message of a context in OpenAI's words, so that repeated ones are told."""
    calls = [call for call in as_list(message.get("content")) if isinstance(call, dict)]
    if message.get("type") == "FunctionExecutionResultMessage":
        result = calls[0] if calls else {}
        return {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("call_id")}
    role = _ROLES.get(str(message.get("type")), "user")
    if role == "assistant" and calls:
        return {"role": role, "content": None, "tool_calls": calls}
    return {"role": role, "content": message.get("content")}
