"""A model's call as tracers log it: what was asked and answered, each in any provider's or library's shape."""

from __future__ import annotations

from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.bodies import is_answer
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.langchain import generations_body, is_message, plain_messages, unread_generations, unwrapped
from webapp.dumps.messages.pieces import Piece, as_json, text_or_json
from webapp.dumps.messages.requests import noted_answers, request_messages
from webapp.dumps.messages.turns import Conversation, text_turns, turns_of
from webapp.dumps.records import Turn
from webapp.dumps.values import are_messages, as_list, as_object, text

_BESIDE_ANSWERS = {"finish_reason", "finishReason", "usage_metadata", "usageMetadata", "stop_reason", "usage"}
"""what a provider's body says beside its answer"""
_ITEMS = ("function_call", "reasoning", "custom_tool_call", "mcp_call")
"""types of the Responses API's items that have no role"""


def traced(
    question: Any, output: Any, conversation: Conversation, *, bodies: bool = False
) -> tuple[list[Turn], list[Turn]]:
    """What was asked anew, and what the model answered: a body, messages, LangChain's generations, calls or a text.

    Where outputs are `bodies`, one of which no answer is known is worth a word; else it may be what the model wrote.
    """
    model, question = conversation.model, _opened(question)
    request = _request(question)
    turns = exchange(request, None, conversation)
    is_said = any(question.values()) if isinstance(question, dict) else isinstance(question, list) and bool(question)
    if is_said and not any(request_messages(request, conversation)):
        turns = text_turns(as_json(question), "user", conversation)
    conversation.model = model or conversation.model  # else the one that the request names
    return turns, noted_answers(_answers(output, conversation, bodies), conversation)


def _request(question: Any) -> dict[str, Any]:
    """What was asked as a request: such an object, a list of messages, or a text."""
    if not isinstance(question, dict):
        is_list = isinstance(question, list)
        return _with_tools({"messages" if is_list else "input": plain_messages(question)})
    request = {**question, "messages": plain_messages(question.get("messages"))}
    if isinstance(prompts := question.get("prompts"), list):
        request["messages"] = [{"role": "user", "content": prompt} for prompt in prompts]
    return _with_tools(request)


def _with_tools(request: dict[str, Any]) -> dict[str, Any]:
    """A request of Langfuse's handler for LangChain, which writes each tool behind the messages, of the role `tool`."""
    messages = as_list(request.get("messages"))
    tools = (message for message in messages if as_object(message).get("role") == "tool")
    behind = [message for message in tools if _declares(as_object(message.get("content")))]
    rest = [message for message in messages if message not in behind]
    return {**request, "messages": rest, "tools": [tool["content"] for tool in behind]} if behind else request


def _declares(content: dict[str, Any]) -> bool:
    return content.get("type") == "function" or {"name", "input_schema"} <= content.keys()


def _answers(output: Any, conversation: Conversation, bodies: bool) -> list[Turn]:
    answered = _opened(output)
    calls = _calls(output)
    turns = turns_of(calls, "assistant", conversation) if calls else []
    if not calls and isinstance(answered, dict | list):
        turns = exchange(None, _body(answered), conversation)
        conversation.notes.extend(unread_generations(as_object(answered)))
    if any(turn.raw for turn in turns):
        return turns
    if output is None:
        return turns_of([], "assistant", conversation)
    raw = text_or_json(output)
    beside = isinstance(answered, dict) and bool(answered.keys() & _BESIDE_ANSWERS)
    if not isinstance(answered, str) and (bodies or _is_body(answered) or beside):
        keys = ", ".join(repr(str(key)[:40]) for key in list(as_object(answered))[:12]) or "none"
        conversation.notes.append(f"no answer is known in the output (its keys: {keys}); it is kept whole, as JSON")
    return turns_of([Piece("text", raw)], "assistant", conversation)


def _body(answered: Any) -> Any:
    """The answer as a provider's body."""
    if isinstance(answered, dict):
        if is_message(answered) and "role" not in answered:
            return {"choices": [{"message": unwrapped(answered)}]}
        return answered if is_answer(answered) else generations_body(answered)
    items = [as_object(item) for item in answered]
    if any("message" in item for item in items):
        return {"choices": answered}
    if answered and all(isinstance(item, list) for item in answered):
        return {"generations": answered}
    if any(item.get("type") in _ITEMS for item in items) or not any(
        "role" in item or "content" in item for item in items
    ):
        return {"output": answered}
    return {"choices": [{"message": unwrapped(item) if is_message(item) else item} for item in items]}


def _calls(raw: Any) -> list[Piece]:
    """The calls of Vercel's SDK, which writes a list of them, as JSON text, where the model said nothing else."""
    listed = json_or_none(raw) if isinstance(raw, str) and raw[:1] == "[" else raw
    calls = [
        item for item in as_list(listed) if text(as_object(item).get("toolName")) and item.keys() & {"input", "args"}
    ]
    if not calls or len(calls) < len(as_list(listed)):
        return []
    return [
        Piece.of_call(call.get("input", call.get("args")), call["toolName"], text(call.get("toolCallId")), call)
        for call in calls
    ]


def _opened(value: Any) -> Any:
    """What a JSON text of a request or an answer says; other texts stay as they are."""
    body = json_or_none(value) if isinstance(value, str) and value[:1] in ("{", "[") else None
    return body if _is_body(body) else value


def _is_body(value: Any) -> bool:
    """Whether this is a provider's body, and not what a model wrote as JSON."""
    if isinstance(value, list):
        return are_messages(value)
    if not isinstance(value, dict):
        return False
    if value.get("object") == "response" or "role" in as_object(value.get("message")):
        return True
    return bool(value.keys() & {"role", "choices", "candidates", "messages", "contents"})
