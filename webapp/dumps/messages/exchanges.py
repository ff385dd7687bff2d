"""What was asked and answered: a request with its response, wherever an entry has them, a message, or a traced call."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.bodies import MODELS, answer, is_answer, nothing_said, said_or_sent, unanswered
from webapp.dumps.messages.declarations import declared_in, with_model
from webapp.dumps.messages.langchain import generations_body
from webapp.dumps.messages.metadata import hosts_of
from webapp.dumps.messages.pieces import Piece, as_json, call, text_or_json
from webapp.dumps.messages.printed import is_printed
from webapp.dumps.messages.requests import new_prompts, noted_answers, request_message, request_messages
from webapp.dumps.messages.streams import is_body, parsed_body
from webapp.dumps.messages.turns import (
    Conversation,
    each_filled,
    error_turns,
    message_turns,
    spent,
    text_turns,
    turns_of,
)
from webapp.dumps.programs import LEVELS
from webapp.dumps.records import Stop, Turn, role_of
from webapp.dumps.values import are_messages, as_list, as_object, first_moment, first_text, text, whole

_ASKING = {"messages", "contents", "prompt", "input"}
_TALKING = {"messages", "contents"}
"""keys of requests that want an answer, though all that they say was said before"""
_SAYING = {"content", "choices", "candidates", "message", "generations"}
"""what a body has that is one itself, though it has a response beside it: the Vercel SDK's"""
_REQUESTS = ("request", "proxy_server_request")
_TIMES = ("timestamp", "created_at", "created", "processed_time")
_TIMES_OR_DURATIONS = ("ts", "time", "datetime", "start_time", "startTime")
_DURATIONS_END = 2000
"""A number of seconds that is a time before this year is taken for a duration."""
BODIES = ("response", "output", "completion", "result", "body", "answer", "chunks", "events", "stream")
"""Where people who log in ten lines keep the provider's body."""
ITEMS = (
    *("function_call", "function_call_output", "function_call_result", "custom_tool_call", "custom_tool_call_output"),
    *("mcp_call", "web_search_call", "file_search_call", "computer_call", "code_interpreter_call", "reasoning"),
)
"""Types of the Responses API's items that have no role."""


def exchange(request: Any, response: Any, conversation: Conversation) -> list[Turn]:
    """A request's messages that the one before did not hold, then what was answered."""
    for key in ("response", "body"):  # OpenAI's batches wrap theirs as a body with its status
        if isinstance(response, dict) and isinstance(response.get(key), dict) and not response.keys() & _SAYING:
            response = response[key]
    if isinstance(request, dict) and isinstance(request.get("body"), dict) and not request.keys() & _ASKING:
        request = request["body"]  # gateways log the address and headers beside it
    first = response[0] if isinstance(response, list) and response else response
    conversation.model = first_text(first, *MODELS) or first_text(request, *MODELS) or conversation.model
    if isinstance(request, dict) and request:
        declared = conversation.declared_beside or declared_in(request)
        is_azure = "prompt_filter_results" in as_object(first)  # where a deployment is asked, and not a model
        conversation.declares(with_model(declared, request, None if is_azure else first_text(first, *MODELS)))
    elif request is None and as_object(first).get("object") == "response":  # it tells what it was asked for
        conversation.declares(declared_in(first))
    conversation.hosts = [*hosts_of(first), *hosts_of(request)]
    prompts = new_prompts(request, conversation)
    answers = noted_answers(answer(response, conversation), conversation)
    if answers and prompts and prompts[-1].kind == "response" and prompts[-1].raw == answers[0].raw:
        prompts = prompts[:-1]  # the answer, logged with what was asked, too
    is_asked = bool(prompts) or (isinstance(request, dict) and bool(request.keys() & _TALKING))
    if is_asked and not answers and response is not request:
        conversation.notes.extend(nothing_said(response))
    return [*prompts, *answers]


def entry_turns(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """What an entry says: a message, an item of the Responses API, or a request with its response."""
    if value.get("object") != "interaction" and ("role" in value or role_of(value) is not None):
        return logged_message(value, conversation)
    if value.get("type") in ITEMS:
        return request_message(value, conversation)
    return _logged(value, conversation)


def failure_turns(value: dict[str, Any], key: str, conversation: Conversation) -> list[Turn]:
    """What is said instead of an answer: batches, and people's own logs, hold the error beside it or in its place."""
    inner = as_object(value.get(key))
    holders = (value, inner, as_object(inner.get("body")), as_object(value.get("result")))
    error = next((holder["error"] for holder in holders if holder.get("error")), None) or _told_failure(value)
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if error is None:
        if key in value and value[key] is None:
            conversation.notes.append(f"no answer under {key!r}")
        return []
    written, why = first_text(error, "failed_generation"), first_text(error, "message")
    if written:  # what the model wrote, which Groq could not read as a call
        stop = Stop("malformed", first_text(error, "code") or "failed_generation")
        return text_turns(written, "assistant", conversation, failure=why or "failed_generation", stop=stop)
    return error_turns(error, first_text(error, "type", "code"))


def _told_failure(value: dict[str, Any]) -> str | None:
    """An error under a name of its own: LiteLLM's logs, and Vertex' batches, whose status is a sentence."""
    information = as_object(as_object(value.get("metadata")).get("error_information") or value.get("error_information"))
    if (ended := as_object(value.get("result")).get("type")) in ("expired", "canceled"):  # in Anthropic's batches
        return str(ended)
    status = text(value.get("status"))
    reason = first_text(value, "error_str") or first_text(information, "error_message")
    return reason or (status if status and " " in status and "processed_time" in value else None)


def logged_message(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """A message, LangChain's too, whose model stands beside what its provider sent."""
    beside = as_object(value.get("response_metadata"))
    model = first_text(value, "model", "ai_model_id", "response.model") or first_text(beside, "model_name", "model")
    usage = value.get("usage") or value.get("usage_metadata") or beside.get("token_usage")
    once = spent(usage, value.get("cost"))
    about: dict[str, Any] = {"sent_at": _sent_at(value), "phase": text(value.get("phase"))}
    about |= {key: whole(value.get(key)) for key in ("round", "attempt")}
    turns = message_turns(value, conversation, once=once, model=model, **about)
    return each_filled(turns, agent=text(value.get("name")))


def _sent_at(value: dict[str, Any]) -> datetime | None:
    if when := first_moment(value, *_TIMES) or first_moment(value.get("extra"), "timestamp"):  # mini-swe-agent's
        return when
    times = (first_moment(value, key) for key in _TIMES_OR_DURATIONS)
    return next((when for when in times if when is not None and when.year >= _DURATIONS_END), None)


def _logged(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """A request's new messages, then what was answered; either may be the entry itself."""
    key = next((key for key in BODIES if is_body(value.get(key))), "response")
    response = value.get(key, value)
    body = parsed_body(response) if isinstance(response, str) else None
    request_key = next((name for name in _REQUESTS if value.get(name) is not None), None)
    if request_key is None and key not in value and isinstance(value.get("message"), str) and value.keys() & LEVELS:
        return []  # a line of the log that the calls stand in
    request = value if request_key is None else value[request_key]
    if is_printed(response):
        listed = [first_text(item, "text") or item for item in as_list(value.get("outputs"))]
        if outputs := [item for item in listed if isinstance(item, str)]:  # DSPy's history
            response = outputs
    if isinstance(request, str):
        request = written if isinstance(written := parsed_body(request), dict) else {"prompt": request}
    if isinstance(as_object(value.get("result")).get("message"), dict) and key not in value:  # Anthropic's batches
        response = value["result"]["message"]
    said = said_or_sent(request, response, body)
    turns = exchange(request, response if said is None else said, conversation)
    return each_filled(or_failure(value, turns, key, conversation), sent_at=_sent_at(value))


def or_failure(value: dict[str, Any], turns: list[Turn], key: str, conversation: Conversation) -> list[Turn]:
    """The turns of an exchange in an entry; where no model answers in them, also what is said instead, under `key`."""
    if any(turn.written_by_model or (turn.stop and turn.tokens_out) for turn in turns):
        return turns
    kept = [turn for turn in turns if turn.kind != "event" or turn.role == "thinking"]
    failures = [] if any(turn.kind == "error" for turn in kept) else failure_turns(value, key, conversation)
    if failures and not value.get(key):
        conversation.notes.clear()
    turns = [*kept, *failures]
    unanswered(value, turns, conversation)
    return turns


_BESIDE_ANSWERS = {"finish_reason", "finishReason", "usage_metadata", "usageMetadata", "stop_reason", "usage"}
"""what a provider's body says beside its answer"""


def traced(
    question: Any, output: Any, conversation: Conversation, *, bodies: bool = False
) -> tuple[list[Turn], list[Turn]]:
    """What was asked anew, and what the model answered: a body, messages, LangChain's generations, calls or a text.

    Where outputs are `bodies`, one of which no answer is known is worth a word; else it may be what the model wrote.
    """
    model, question = conversation.model, _opened(question)
    asked = {"messages" if isinstance(question, list) else "input": question}
    request = _with_tools(question if isinstance(question, dict) else asked)
    turns = exchange(request, None, conversation)
    is_said = any(question.values()) if isinstance(question, dict) else isinstance(question, list) and bool(question)
    if is_said and not any(request_messages(request, conversation)):
        turns = text_turns(as_json(question), "user", conversation)
    conversation.model = model or conversation.model  # else the one that the request names
    return turns, noted_answers(_answers(output, conversation, bodies), conversation)


def _with_tools(request: dict[str, Any]) -> dict[str, Any]:
    """A request of Langfuse's handler for LangChain, which writes each tool behind the messages, of the role `tool`."""
    messages = as_list(request.get("messages"))
    tools = ((item, as_object(item.get("content"))) for item in messages if as_object(item).get("role") == "tool")
    keys = {"name", "input_schema"}
    behind = [item for item, tool in tools if tool.get("type") == "function" or keys <= tool.keys()]
    rest = [message for message in messages if message not in behind]
    return {**request, "messages": rest, "tools": [tool["content"] for tool in behind]} if behind else request


def _answers(output: Any, conversation: Conversation, bodies: bool) -> list[Turn]:
    answered = _opened(output)
    calls = _calls(output)
    turns = turns_of(calls, "assistant", conversation) if calls else []
    if not calls and isinstance(answered, dict | list):
        turns = exchange(None, _body(answered), conversation)
    if any(turn.raw for turn in turns):
        return turns
    if output is None:
        return turns_of([], "assistant", conversation)
    beside = isinstance(answered, dict) and bool(answered.keys() & _BESIDE_ANSWERS)
    if not isinstance(answered, str) and (bodies or _is_body(answered) or beside):
        keys = ", ".join(repr(str(key)[:40]) for key in list(as_object(answered))[:12]) or "none"
        conversation.notes.append(f"no answer is known in the output (its keys: {keys}); it is kept whole, as JSON")
    return turns_of([Piece("text", text_or_json(output))], "assistant", conversation)


def _body(answered: Any) -> Any:
    """The answer as a provider's body, or as messages."""
    if isinstance(answered, dict):
        return answered if is_answer(answered) else generations_body(answered)
    if answered and all(isinstance(item, list) for item in answered):
        return {"generations": answered}
    are_items = any(as_object(item).get("type") in ITEMS for item in answered)
    return {"output": answered} if are_items else answered


def _calls(raw: Any) -> list[Piece]:
    """The calls of Vercel's SDK, which writes a list of them, as JSON text, where the model said nothing else."""
    listed = json_or_none(raw) if isinstance(raw, str) and raw[:1] == "[" else raw
    calls = [
        item for item in as_list(listed) if text(as_object(item).get("toolName")) and item.keys() & {"input", "args"}
    ]
    if not calls or len(calls) < len(as_list(listed)):
        return []
    return list(map(call, calls))


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
