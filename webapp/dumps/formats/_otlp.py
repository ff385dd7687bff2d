"""What one OpenTelemetry span says of a model's answer, in every place where instrumentations put its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import text
from webapp.dumps.formats._asked import Span, asked_of, flat_message
from webapp.dumps.formats._attributes import Attributes, id_hex, opened
from webapp.dumps.formats._bodies import Exchanges, answer, exchange, is_answer
from webapp.dumps.formats._chat import Path, Piece, as_json, pieces
from webapp.dumps.formats._turns import Found, spent, turns_of
from webapp.dumps.records import Turn, changed
from webapp.dumps.times import moment

_VERCEL_TEXTS = ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "ai.response.model", "ai.model.id", "llm.model_name")
_TOKENS_IN = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
    "ai.usage.promptTokens",
    "ai.usage.inputTokens",
)
_TOKENS_OUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
    "ai.usage.completionTokens",
    "ai.usage.outputTokens",
)
_COSTS = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")
_AGENTS = ("gen_ai.agent.name", "agent.name", "traceloop.entity.name")
_TOOLS = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_RESULTS = ("gen_ai.tool.call.result", "ai.toolCall.result", "output.value", "traceloop.entity.output")


def span_turns(span: Span, state: Exchanges) -> list[Found]:
    """A span's turns: what was asked anew, what the model answered; a tool's result; an error; else an event."""
    value, own = span.value, span.own
    about: dict[str, Any] = {
        "sent_at": moment(value.get("startTimeUnixNano", value.get("start_time_unix_nano"))),
        "parent": id_hex(value.get("parentSpanId", value.get("parent_span_id")), 8),
        "phase": _phase(span),
    }
    if _is_tool(own):
        return _tool_result(own, about, state)
    state.talk.model = own.text(*_MODELS)
    answers = _answers(span, state)
    if is_outer(span):  # it names the model as it was asked for, the inner one as it answered
        answers = [(changed(turn, model=None), path) for turn, path in answers]
    if not answers:
        return [_error(value, about) or (Turn(0, "event", agent=own.text(*_AGENTS), **about), None)]
    asked = exchange({"messages": list(asked_of(span))}, None, (), (), state)
    state.answered.update(hash(turn.raw) for turn, _ in answers if turn.raw)
    found: list[Found] = [(_placed(turn, {**about, "agent": own.text(*_AGENTS)}), None) for turn, _ in asked]
    once = spent({"input": own.first(*_TOKENS_IN), "output": own.first(*_TOKENS_OUT)}, own.first(*_COSTS))
    wrote = next((index for index, (turn, _) in enumerate(answers) if turn.written_by_model), 0)
    for index, (turn, path) in enumerate(answers):
        more = {**about, "agent": own.text(*_AGENTS), **(once if index == wrote else {})}
        found.append((_placed(turn, more), path))
    return found


def is_outer(span: Span) -> bool:
    """Whether this is the outer of the two spans in which Vercel's SDK says the same."""
    name = span.own.text("ai.operationId") or ""
    return name.startswith("ai.") and ".do" not in name


def _phase(span: Span) -> str | None:
    """The span's name; for Vercel's SDK the operation, which its outer and inner spans have in common."""
    operation = span.own.text("ai.operationId")
    return operation.partition(".do")[0] if operation else text(span.value.get("name"))


def _placed(turn: Turn, about: dict[str, Any]) -> Turn:
    known = {key: value for key, value in about.items() if value is not None and getattr(turn, key) is None}
    return changed(turn, **known)


def _is_tool(own: Attributes) -> bool:
    kinds = (own.first("gen_ai.operation.name"), own.first("openinference.span.kind"), own.first("ai.operationId"))
    return any(kind == tool for kind, tool in zip(kinds, ("execute_tool", "TOOL", "ai.toolCall"), strict=True))


def _tool_result(own: Attributes, about: dict[str, Any], state: Exchanges) -> list[Found]:
    key = next((key for key in _RESULTS if own.values.get(key) is not None), None)
    said = None if key is None else own.values[key]
    raw = said if isinstance(said, str) or said is None else as_json(said)
    path = own.paths.get(key) if key else None
    name = own.text("gen_ai.tool.call.id", "ai.toolCall.id")
    return turns_of([Piece("result", raw, path, own.text(*_TOOLS), name)], "tool", state.talk, **about)


def _error(value: dict[str, Any], about: dict[str, Any]) -> Found | None:
    status = value.get("status")
    if not isinstance(status, dict) or status.get("code") not in (2, "2", "STATUS_CODE_ERROR"):
        return None
    raw = text(status.get("message"))
    return Turn(0, "error", raw=raw, **about), ("span", "status", "message") if raw else None


def _answers(span: Span, state: Exchanges) -> list[Found]:
    """What the first place that holds something holds; instrumentations fill several with the same."""
    for place in _places(span, state):
        if any(turn.raw for turn, _ in place):
            return place
    return []


def _places(span: Span, state: Exchanges) -> Iterator[list[Found]]:
    own = span.own
    for attributes in (own, *(found for _, found in span.events)):
        for key in ("gen_ai.output.messages", "gen_ai.completion", "langfuse.observation.output"):
            yield _written(attributes, key, state)
    yield _listed(own, "gen_ai.completion", "", state)
    yield [pair for name, found in span.events if name == "gen_ai.choice" for pair in _choice(found, state)]
    yield _vercel(own, state)
    yield _listed(own, "llm.output_messages", "message.", state)
    if own.first("openinference.span.kind") in (None, "LLM") and _speaks_of_models(own):
        yield _written(own, "output.value", state)


def _speaks_of_models(own: Attributes) -> bool:
    beginnings = ("gen_ai.", "llm.", "ai.", "openinference.span.kind")
    return any(key.startswith(beginnings) for key in own.values)


def _written(own: Attributes, key: str, state: Exchanges) -> list[Found]:
    """Messages or a body, as JSON text or structured; or the text itself, which then has its place."""
    if not own.values.get(key) or not isinstance(own.values[key], str | list | dict):
        return []
    value = opened(own.values[key])
    if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
        said = [piece for message in value for piece in pieces(message)]
        return _unplaced(turns_of(said, "assistant", state.talk))
    if is_answer(value) and key != "gen_ai.completion":
        return _unplaced(answer(value, (), state.talk))
    raw = own.values[key]
    return _text(raw if isinstance(raw, str) else as_json(raw), own.paths.get(key), state)


def _text(raw: str, path: Path | None, state: Exchanges) -> list[Found]:
    return turns_of([Piece("text", raw, path)], "assistant", state.talk)


def _unplaced(found: list[Found]) -> list[Found]:
    return [(turn, None) for turn, _ in found]


def _listed(own: Attributes, prefix: str, inner: str, state: Exchanges) -> list[Found]:
    """`prefix.N.content`, with tool calls as `prefix.N.tool_calls.M.name` and `.arguments`."""
    said: list[Piece] = []
    for message in own.indexed(prefix):
        said.extend(flat_message({key.removeprefix(inner): value for key, value in message.items()}))
    return turns_of(said, "assistant", state.talk) if said else []


def _choice(event: Attributes, state: Exchanges) -> list[Found]:
    """The event of the conventions up to 1.36: `message` as JSON text or structured, or `content` beside it."""
    message = opened(event.first("message", "gen_ai.event.content"))
    if isinstance(message, dict):
        inner = message.get("message")
        return _unplaced(turns_of(pieces(inner if isinstance(inner, dict) else message), "assistant", state.talk))
    said = event.first("message", "content")
    return _text(said, event.paths.get("message") or event.paths.get("content"), state) if isinstance(said, str) else []


def _vercel(own: Attributes, state: Exchanges) -> list[Found]:
    thought, key = own.text("ai.response.reasoning"), next((key for key in _VERCEL_TEXTS if own.text(key)), None)
    said = [Piece("thinking", thought, own.paths.get("ai.response.reasoning"))] if thought else []
    if key is not None:
        said.append(Piece("text", own.text(key), own.paths.get(key)))
    calls = opened(own.first("ai.response.toolCalls", "ai.result.toolCalls"))
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            raw = call.get("args", call.get("input"))
            arguments = raw if isinstance(raw, str) or raw is None else as_json(raw)
            said.append(Piece("call", arguments, None, text(call.get("toolName")), text(call.get("toolCallId")), call))
    return turns_of(said, "assistant", state.talk) if said else []
