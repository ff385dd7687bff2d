"""The calls that a message makes, however they are listed beside its content, and the pieces that they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from webapp.dumps.decoding import json_or_none, opened
from webapp.dumps.values import WORDS, as_list, as_object, first_text, text

CALL_LISTS = tuple(WORDS["call_lists"].split())
_ITEM_ARGUMENTS = ("arguments", "action", "queries", "code", "input", "operation", "revised_prompt")
ARGUMENTS = ("arguments", "input", "args", "code", "tool_kwargs", "arguments_json")
ID_KEYS = ("id", "call_id", "toolUseId", "tool_call_id", "tool_use_id", "toolCallId", "toolUseID", "toolId")
"""under which providers give a call its id"""
TOOLS = ("tool", "tool_name", "toolName", "function_name", "tool_used", "tool_called")
_NAMED_ARGUMENTS = tuple(WORDS["named_arguments"].split())
_STREAMED = "partial_json"
"""under which LangChain keeps what a stream said of arguments that it then leaves empty"""
CAME_OF = ("result", "tool_result")
"""of a tool's message, what it gave, before the keys of what anybody says"""
_RESULTS = ("result", "output", "observation", "tool_output", "tool_result", "response", "error")
_NAME, _OF_CALL = re.compile(r"[\w.:/-]{1,100}"), re.compile(r"tool_|tool[A-Z]|action_")
_OF_TOOL = re.compile(r"(?:tool|function)[._-]?(?:call[._-]?)?(?:output|result|response)s?", re.I)
_BY_PROVIDER = ("server_tool_use", "mcp_tool_use", "executable_code")
_RUN_CODE = {"language", "code"}
"""of what Google's models run themselves"""
_BY_MODEL = ("function_call", "tool_call", "custom_tool_call", "invalid_tool_call")
_JSON_ARGUMENTS = ("arguments", "input", "args", "tool_kwargs", "parameters", "arguments_json")


@dataclass(slots=True)
class Piece:
    """One thing said, never changed. `name` is the tool's, `id` the call's, `call` the call as it stands there.

    `failure` is what the dump itself notes of a call whose arguments could not be read. A piece that is `unread` says
    in `text` what was left out; one that is `other` is a text that is no part of what was said, as the summary of what
    came before; `name` says what it is.
    """

    kind: Literal["text", "thinking", "call", "result", "other", "unread"]
    text: str | None
    name: str | None = None
    id: str | None = None
    call: Any = None
    failure: str | None = None
    is_error: bool | None = None

    @classmethod
    def of_call(
        cls, arguments: Any, name: str | None, ident: str | None, call: Any, failure: str | None = None
    ) -> Piece:
        """A call; arguments that are no text stand in it as JSON."""
        return cls("call", text_or_json(arguments), name, ident, call, failure)

    @classmethod
    def of_result(cls, answer: Any, name: str | None, ident: str | None = None) -> Piece:
        """What a tool answered; what is no text stands in it as JSON."""
        return cls("result", text_or_json(answer), name, ident)


def beside(message: dict[str, Any]) -> Iterator[Piece]:
    """The calls beside the content: `tool_calls` (LangChain's as its provider sent them), `function_call`."""
    more = message.get("additional_kwargs")
    key = next((key for key in CALL_LISTS if message.get(key)), "tool_calls")
    calls = _listed_calls(message.get(key))
    if isinstance(more, dict) and isinstance(more.get("tool_calls"), list):
        calls = more["tool_calls"]
    invalid = [value for value in as_list(message.get("invalid_tool_calls")) if isinstance(value, dict)]
    errors = {call_id(value, "id"): text(value.get("error")) or "invalid tool call" for value in invalid}
    written = set()
    for value in calls:
        if isinstance(value, dict) and ((piece := call(value)).name or piece.text is not None):
            written.add(piece.id)
            yield replace(piece, failure=piece.failure or errors.get(piece.id)) if piece.id in errors else piece
        elif any(value.values() if isinstance(value, dict) else [value]):
            yield Piece("unread", f"a call of no known shape under {key!r} ({_shape(value)}); it was left out")
    for value in invalid:  # LangChain's calls whose arguments it could not read
        piece = call(value)
        if piece.id is None or piece.id not in written:
            yield replace(piece, failure=text(value.get("error")) or "invalid tool call")
    if isinstance(message.get("function_call"), dict):
        yield call(message["function_call"])
    elif message.get("function_call"):
        yield Piece("unread", f"a call that is {_shape(message['function_call'])} under 'function_call' was left out")


def _listed_calls(value: Any) -> list[Any]:
    """The calls that a message lists; each, or all, may be JSON as text, and a single one may stand alone."""
    value = value if not isinstance(value, str) or (inner := json_or_none(value)) is None else inner
    listed = value if isinstance(value, list) else [value] if value else []
    return [item if not isinstance(item, str) or (inner := json_or_none(item)) is None else inner for item in listed]


def listed_calls(holder: dict[str, Any], key: str, notes: list[str]) -> list[dict[str, Any]]:
    """The calls under `key` of what is no message of a provider; what of them is no object is added to `notes`."""
    listed = _listed_calls(holder.get(key))
    strange = [value for value in listed if not isinstance(value, dict) and value]
    notes.extend(f"a call of no known shape under {key!r} ({_shape(value)}); it was left out" for value in strange)
    return [value for value in listed if isinstance(value, dict)]


def _shape(value: Any) -> str:
    if not isinstance(value, dict):
        return f"a {type(value).__name__}"
    return f"keys: {', '.join(repr(str(key)[:40]) for key in value)}"


def call(value: dict[str, Any]) -> Piece:
    """A tool call: its arguments as the model wrote them where they are a text, else as JSON."""
    key = "custom" if isinstance(value.get("custom"), dict) else "function"
    function = value.get(key)
    inner = function if isinstance(function, dict) else value
    name = (
        first_text(inner, "name") or text(function) or first_text(inner, "tool_name", "toolName", "apiName", "language")
    )
    key = next((key for key in ARGUMENTS if inner.get(key) is not None), "")
    arguments = text_or_json(inner.get(key) or first_text(inner, _STREAMED) or inner.get(key))
    failure = text(value.get("parse_error"))
    return Piece("call", arguments, name, call_id(value, "call_id"), value, failure)


def arguments_of(piece: Piece) -> Literal["written", "decoded", "free", "provider"]:
    """How a call's arguments stand in the log. Custom tools take a text; what is under no known name may be one."""
    call = as_object(piece.call)
    kind = str(call.get("type"))
    if kind in _BY_PROVIDER or (kind.endswith("_call") and kind not in _BY_MODEL) or call.keys() >= _RUN_CODE:
        return "provider"
    inner = call["function"] if isinstance(call.get("function"), dict) else call
    value = next((inner[key] for key in _JSON_ARGUMENTS if inner.get(key) is not None), None)
    if "custom" in (kind, *call) or kind == "custom_tool_call" or (value is None and piece.text and not piece.failure):
        return "free"
    is_streamed = not value and isinstance(inner.get(_STREAMED), str)
    return "decoded" if isinstance(value, dict | list) and not is_streamed else "written"


def item_call(item: dict[str, Any]) -> Iterator[Piece]:
    """A call of a tool that the provider runs, an item of the Responses API (`web_search_call`), and what it gave."""
    key = next((key for key in _ITEM_ARGUMENTS if item.get(key)), "")
    name, ident = first_text(item, "name") or str(item.get("type")).removesuffix("_call"), call_id(item, "call_id")
    arguments = text_or_json(item.get(key))
    if arguments is not None:
        yield Piece("call", arguments, name, ident, item)
    elif strange := [str(key) for key, value in item.items() if isinstance(value, dict) and value]:
        yield Piece("unread", f"a call without arguments that are known; {strange[0][:40]!r} was left out")
    for answer in (item.get("output"), *as_list(item.get("outputs"))):
        logs = answer.get("logs") if isinstance(answer, dict) else answer
        if isinstance(logs, str) and logs:
            yield Piece("result", logs, name, ident)


def invocation_of(block: dict[str, Any]) -> dict[str, Any] | None:
    """The call that a part of Vercel's UI messages holds, or is."""
    inner = block.get("toolInvocation")
    if isinstance(inner, dict):
        return inner
    kind = str(block.get("type"))
    is_call = isinstance(block.get("toolCallId"), str) and (kind.startswith("tool-") or kind == "dynamic-tool")
    return {"toolName": kind.removeprefix("tool-"), **block} if is_call else None


def invoked(invocation: dict[str, Any]) -> Iterator[Piece]:
    """A call with what became of it; `rawInput` is what the model wrote where that could not be read."""
    error, written = text(invocation.get("errorText")), invocation.get("rawInput")
    failed = written is not None and all(invocation.get(key) is None for key in ARGUMENTS)
    piece = call(invocation)
    if failed:
        piece = Piece.of_call(written, piece.name, piece.id, piece.call, error)
    yield piece
    answer = next((invocation[key] for key in ("result", "output") if invocation.get(key) is not None), None)
    answer = error if answer is None and not failed else answer
    if answer is not None:
        yield Piece("result", text_or_json(answer), piece.name, piece.id, is_error=error is not None or None)


def named_call(value: dict[str, Any], *, is_listed: bool = False) -> tuple[list[dict[str, Any]], set[str]]:
    """As messages the call that an object is and its result, with their keys; arguments are an object, no schema.

    In a list of calls a name and its input are one, too.
    """
    tools = (*TOOLS, "action", "name") if "action_input" in value else (*TOOLS, "name")
    tools = (*tools, "function") if is_listed else tools
    tool = next((key for key in tools if isinstance(value.get(key), str) and _NAME.fullmatch(value[key])), "")
    is_any = tool == "name" and "tool" not in str(value.get("type")) and not is_listed
    known = _NAMED_ARGUMENTS[: 2 if is_any else None]
    given = next((key for key in known if isinstance(opened(value.get(key)), dict)), None)
    texts = (key for key in known if tool in TOOLS and _OF_CALL.match(key) and text(value.get(key)))
    given = given or next(texts, None)
    if not tool or given is None or {"properties", "messages"} & as_object(opened(value[given])).keys():
        return [], set()
    call = {"id": value.get("id"), "name": value[tool], "arguments": value[given]}
    said = next((key for key in _RESULTS if key != given and value.get(key) is not None), tool)
    result = {"role": "tool", "name": value[tool], "content": text_or_json(value[said])}
    return [{"role": "assistant", "tool_calls": [call]}, *([result] if said != tool else [])], {tool, given, said}


def event_calls(entry: dict[str, Any], called: dict[str, str]) -> list[dict[str, Any]]:
    """The call that an event is named by, and its result, as messages: {"event": "tool_call", "data"}.

    A call of a tool that the model has `called`, by the ids of its calls, says what came of that.
    """
    if not any("tool" in str(entry.get(key)).lower() for key in ("type", "event", "event_type", "kind")):
        return []
    holders = (entry, as_object(entry.get("data")), as_object(entry.get("payload")))
    messages = next(filter(None, (named_call(holder, is_listed=True)[0] for holder in holders)), [])
    is_known = bool(messages) and messages[0]["tool_calls"][0]["name"] in called.values()
    return messages[1:] if is_known else messages


def came_of_call(key: str, holder: dict[str, Any]) -> bool:
    """Whether a key names what a tool gave, or an output beside a tool, code that was run, or a graph's tool node."""
    if key not in ("output", "raw_output", "stdout", "stderr"):
        return _OF_TOOL.fullmatch(key) is not None
    named = [holder.get(key) for key in (*TOOLS, "command", "cmd")]
    is_run = isinstance(code := holder.get("code"), str) and len(code.split()) > 1
    is_node = {"tools", "tool"} & {str(holder.get("node")), str(holder.get("node_name"))}
    return is_run or bool(is_node) or any(isinstance(name, str) and name for name in named)


def as_json(value: Any) -> str:
    """Compact JSON, for what is no text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_or_json(value: Any) -> str | None:
    """A text, anything else as JSON; None for None."""
    return value if isinstance(value, str | None) else as_json(value)


def call_id(value: dict[str, Any], first: str) -> str | None:
    return next((value[key] for key in (first, *ID_KEYS) if text(value.get(key))), None)
