"""What one OpenTelemetry span says of a model's answer, in every place where instrumentations put its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import opened
from webapp.dumps.messages.bodies import answer, is_answer
from webapp.dumps.messages.pieces import Piece, call, content, joined, pieces, speaks, text_or_json
from webapp.dumps.messages.requests import new_prompts, noted_answers
from webapp.dumps.messages.turns import Conversation, each_filled, each_with, filled, spent, text_turns, turns_of
from webapp.dumps.records import Turn, changed
from webapp.dumps.spans.logs import Attributes, id_hex
from webapp.dumps.spans.requests import EntrySpan, blocks, flat_message, requested, span_declares, span_host, span_stop
from webapp.dumps.values import are_messages, as_list, moment, text

_VERCEL_TEXTS = ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "ai.response.model", "ai.model.id", "llm.model_name")
_USAGE = re.compile(r"(?:gen_ai|llm|ai)\.(?:usage|token_count)\.(?:details\.(?=reasoning))?")
_SPELLED = {"prompt": "input", "completion": "output"} | dict.fromkeys(
    ("reasoning.output_tokens", "output_tokens_details.reasoning", "completion_details.reasoning"), "reasoning"
)
"""amounts of tokens that have other names in spans than in providers' bodies"""
_OF_MODELS = ("gen_ai.", "llm.", "ai.", "openinference.span.kind")
_COSTS = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")
_AGENTS = ("gen_ai.agent.name", "agent.name", "traceloop.entity.name")
_TOOLS = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_TOOL_SPANS = (
    *(("gen_ai.operation.name", "execute_tool"), ("openinference.span.kind", "TOOL")),
    *(("ai.operationId", "ai.toolCall"), ("traceloop.span.kind", "tool")),
)
_RESULTS = (
    "gen_ai.tool.call.result",
    "ai.toolCall.result",
    "output.value",
    "traceloop.entity.output",
    "gcp.vertex.agent.tool_response",
)
_BODIES = ("response_data", "gcp.vertex.agent.llm_response", "mlflow.spanOutputs")
"""bodies of responses as Logfire, Google's ADK and MLflow hold them"""
_ANSWERED = re.compile(r"(?:llm\.output_messages|gen_ai\.completion)\.\d+\.")
"""attributes of an answer, whatever they say of it"""
_SAID = ("llm.output_messages.0.message.content", "gen_ai.completion.0.content")
_OF_ANSWER = re.compile(r"output[._]messages|gen_ai\.completion(?![a-z_])", re.I)
_LIKE_ANSWER = re.compile(r"output|completion|response|answer|candidate", re.I)


def identity_of(span: EntrySpan) -> EntrySpan:
    """What of a span names its model, its agent and itself: what log records that come behind it need of it."""
    values = {key: value for key in (*_MODELS, *_AGENTS) if (value := span.attributes.values.get(key)) is not None}
    keys: tuple[str, ...] = ("name", "parentSpanId", "parent_span_id")
    listed = {key: span.value[key] for key in keys if key in span.value}
    return EntrySpan(listed, Attributes(values))


def spoken_for(span: EntrySpan, identity: EntrySpan | None) -> EntrySpan:
    """Log records without their span, with what `identity_of` kept of it."""
    if identity is None:
        return span
    attributes = Attributes({**identity.attributes.values, **span.attributes.values})
    return EntrySpan({**span.value, **identity.value}, attributes, span.events, span.logged)


def span_turns(span: EntrySpan, conversation: Conversation) -> list[Turn]:
    """A span's turns: what was asked anew, what the model answered; a tool's result; an error; else an event."""
    value, attributes = span.value, span.attributes
    about: dict[str, Any] = {
        "sent_at": moment(value.get("startTimeUnixNano", value.get("start_time_unix_nano"))),
        "parent": id_hex(value.get("parentSpanId", value.get("parent_span_id")), 8),
        "phase": _phase(span),
    }
    if any(attributes.first(key) == value for key, value in _TOOL_SPANS):
        return _tool_result(span, about, conversation)
    conversation.model = attributes.text(*_MODELS)
    agent = attributes.text(*_AGENTS)
    answers = [changed(turn, stop=turn.stop or span_stop(span)) for turn in _answers(span, conversation)]
    once = spent(_usage(attributes), attributes.first(*_COSTS))
    if not answers and _is_silent(attributes) and (span_stop(span) or "tokens_out" in once):
        answers = turns_of([], "assistant", conversation, stop=span_stop(span))
    answers = each_with(answers, host=span_host(span)) if answers else answers
    if is_outer(span):  # it names the model as it was asked for, the inner one as it answered
        answers = [changed(turn, model=None) for turn in answers]
    error = _error(value, about)
    if not answers and _names_answer(attributes, error is not None):
        conversation.notes.append("its attributes name an answer, and nothing that it says is known")
    if not answers and error is None and not span.logged:
        return [filled(Turn(0, "event", agent=agent, **about), **(once if _is_call(attributes) else {}))]
    prompts = new_prompts({"messages": list(requested(span))}, conversation)
    conversation.declares(span_declares(span))
    answers = noted_answers(answers, conversation)
    if answers:
        wrote = next((index for index, turn in enumerate(answers) if turn.written_by_model), 0)
        answers[wrote] = filled(answers[wrote], **once)
    turns = each_filled([*prompts, *answers], agent=agent, **about)
    if error is None and (answers or (turns and not once)):
        return turns
    return [*turns, error or filled(Turn(0, "event", agent=agent, **about), **once)]


def _usage(attributes: Attributes) -> dict[str, Any]:
    """The amounts of tokens by the names that providers have for them."""
    named = ((_USAGE.sub("", key), value) for key, value in attributes.values.items() if _USAGE.match(key))
    return {_SPELLED.get(name, name): value for name, value in named if value != ""}


def _is_call(attributes: Attributes) -> bool:
    """Whether the span is a call of a model, whose tokens nobody else counts: its messages were not recorded."""
    return attributes.first("gen_ai.operation.name") in ("chat", "text_completion", "generate_content")


def _is_silent(attributes: Attributes) -> bool:
    """Whether the messages that the model answered are logged, and hold nothing."""
    messages = opened(attributes.first("gen_ai.output.messages"))
    parts = [message.get("parts", message.get("content")) for message in as_list(messages) if isinstance(message, dict)]
    return (bool(parts) and not any(parts)) or any(attributes.values.get(key) == "" for key in _SAID)


def _names_answer(attributes: Attributes, is_failed: bool) -> bool:
    """Whether the attributes of an answer are there; for a model's span, any that look as if they were.

    Of a span that failed many speak of its failure.
    """
    if any(map(_ANSWERED.match, attributes.values)):
        return True
    if attributes.first("openinference.span.kind") != "LLM" and not _is_call(attributes):
        return False
    like_answer = _OF_ANSWER if is_failed else _LIKE_ANSWER
    return any(
        like_answer.search(key) and speaks({key.rpartition(".")[2]: opened(value)})
        for key, value in attributes.values.items()
    )


def is_outer(span: EntrySpan) -> bool:
    """Whether this is the outer of the two spans in which Vercel's SDK says the same."""
    name = span.attributes.text("ai.operationId") or ""
    return name.startswith("ai.") and ".do" not in name


def _phase(span: EntrySpan) -> str | None:
    """The span's name; for Vercel's SDK the operation, which its outer and inner spans have in common."""
    operation = span.attributes.text("ai.operationId")
    return operation.partition(".do")[0] if operation else text(span.value.get("name"))


def _tool_result(span: EntrySpan, about: dict[str, Any], conversation: Conversation) -> list[Turn]:
    attributes = span.attributes
    key = next((key for key in _RESULTS if attributes.values.get(key) is not None), "")
    raw = text_or_json(attributes.values.get(key))
    if raw is None:  # Strands has it in an event
        choice_blocks = (blocks(event.first("message")) for name, event in span.events if name == "gen_ai.choice")
        raw = joined([piece for value in choice_blocks for piece in content(value)])
    ident = attributes.text("gen_ai.tool.call.id", "ai.toolCall.id")
    piece = Piece("result", raw, attributes.text(*_TOOLS), ident)
    return turns_of([piece], "tool", conversation, **about)


def _error(value: dict[str, Any], about: dict[str, Any]) -> Turn | None:
    status = value.get("status")
    if not isinstance(status, dict) or status.get("code") not in (2, "2", "STATUS_CODE_ERROR"):
        return None
    return Turn(0, "error", raw=text(status.get("message")), **about)


def _answers(span: EntrySpan, conversation: Conversation) -> list[Turn]:
    """What the first place that holds something holds; instrumentations fill several with the same."""
    if not span.attributes.values and not span.events:
        return []
    before = start = len(conversation.notes)
    for turns in _places(span, conversation):
        if any(turn.raw for turn in turns):
            del conversation.notes[before:start]  # of places that say less
            return turns
        start = len(conversation.notes)
    return []


def _places(span: EntrySpan, conversation: Conversation) -> Iterator[list[Turn]]:
    attributes = span.attributes
    for holder in (attributes, *(event for _, event in span.events)):
        for key in ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.output", "genai.output"):
            yield _written(holder, key, conversation)
        if attributes.first("langfuse.observation.type") in (None, "generation"):  # others are functions around it
            yield _written(holder, "langfuse.observation.output", conversation)
    yield _listed(attributes, "gen_ai.completion", "", conversation)
    choices = (event for name, event in span.events if name == "gen_ai.choice")
    yield [placed for event in choices for placed in _choice(event, conversation)]
    yield _vercel(attributes, conversation)
    yield _listed(attributes, "llm.output_messages", "message.", conversation)
    body = opened(attributes.first(*_BODIES))
    if isinstance(body, dict):
        streamed = text_turns(text(body.get("combined_chunk_content")) or "", "assistant", conversation)
        yield streamed if "combined_chunk_content" in body else answer(body, conversation)
    of_models = any(key.startswith(_OF_MODELS) for key in attributes.values)
    if of_models and attributes.first("openinference.span.kind") in (None, "LLM"):
        yield _written(attributes, "output.value", conversation)


def _written(attributes: Attributes, key: str, conversation: Conversation) -> list[Turn]:
    """Messages or a body, as JSON text or structured; or the text itself."""
    raw = attributes.values.get(key)
    if not raw or not isinstance(raw, str | list | dict):
        return []
    value = opened(raw)
    if are_messages(value):
        return turns_of([piece for message in value for piece in pieces(message)], "assistant", conversation)
    if is_answer(value) and key != "gen_ai.completion":
        return answer(value, conversation)
    return text_turns(text_or_json(raw) or "", "assistant", conversation)


def _listed(attributes: Attributes, prefix: str, inner: str, conversation: Conversation) -> list[Turn]:
    """`prefix.N.content`, with tool calls as `prefix.N.tool_calls.M.name` and `.arguments`."""
    parts: list[Piece] = []
    for message in attributes.indexed(prefix):
        parts.extend(flat_message({key.removeprefix(inner): value for key, value in message.items()}))
    return turns_of(parts, "assistant", conversation) if parts else []


def _choice(event: Attributes, conversation: Conversation) -> list[Turn]:
    """The event of the conventions up to 1.36: `message` as JSON text or structured, or `content` beside it."""
    message = opened(event.first("message", "gen_ai.event.content"))
    if isinstance(listed := blocks(message), list):
        return turns_of(content(listed), "assistant", conversation)
    if isinstance(message, dict):
        inner = message.get("message")
        return turns_of(pieces(inner if isinstance(inner, dict) else message), "assistant", conversation)
    raw = event.first("message", "content")
    return text_turns(raw, "assistant", conversation) if isinstance(raw, str) else []


def _vercel(attributes: Attributes, conversation: Conversation) -> list[Turn]:
    thought = attributes.text("ai.response.reasoning")
    key = next((key for key in _VERCEL_TEXTS if attributes.text(key)), None)
    parts = [Piece("thinking", thought)] if thought else []
    if key is not None:
        parts.append(Piece("text", attributes.text(key)))
    calls = as_list(opened(attributes.first("ai.response.toolCalls", "ai.result.toolCalls")))
    parts += [call(value) for value in calls if isinstance(value, dict)]
    return turns_of(parts, "assistant", conversation) if parts else []
