"""Objects as Python prints them, read as data and never run: `ChatCompletion(choices=[…])`, `content='…' id='…'`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

_STRING = r"""'(?:[^'\\\n]|\\.)*+(?:'|\\?(?=\n|\Z))|"(?:[^"\\\n]|\\.)*+(?:"|\\?(?=\n|\Z))"""
"""a string; where it does not end, the rest of its line"""
_BARE_STRING = re.compile(rf"(?<![A-Za-z])(?:{_STRING})")
_MOST_BARE = 256 * 1024
"""characters outside of strings: each takes half a kilobyte while it is read"""
_PRINTED = re.compile(
    r"\s*(?:[\w.]{0,80}(?:Completion|Response|Message|Messages|Chunk|Result|Output|Generation|Prediction)\(\s*\w{1,40}="
    r"|(?:content|text|parts|role|id|model|candidates|choices|generations|sdk_http_response)=(?:['\"\[]|[A-Z]\w*\())"
)
"""how `repr` and `str` of an SDK's object begin"""
_BLOCK = re.compile(r"\s*(?:Text|Thinking|(?:Server)?ToolUse|ToolCall|ToolResult)(?:Block|Part)\(\s*\w{1,40}=")
"""how a block of a message's content prints"""
_OBJECT = re.compile(r"(?:Completion|Response|Messages?|Prediction|AgentRunResult|RequestOutput)\(\s*\w{1,40}=")
_NAME = re.compile(r"[\w.]{0,80}\Z")
_ADDRESS = re.compile(r"\s*<[\w.\s]{1,200}? object at 0x[0-9a-fA-F]+>")
_TOKEN = re.compile(
    rf"{_STRING}|"
    r"""<(?:[A-Za-z_][\w.]*+|\.\.\.)(?:: (?P<value>'[^'\n]*'|"[^"\n]*"|-?\d+)|[^<>\n]{0,200})>"""
)
"""a string, or what prints as no expression: `<Kind.STOP: 'stop'>`, `<object at 0x7f>`"""
_TYPES = {
    **dict.fromkeys(("TextPart", "TextBlock", "Text", "TextContent"), "text"),
    **dict.fromkeys(("ThinkingPart", "ThinkingBlock"), "thinking"),
    **dict.fromkeys(("ToolCallPart", "ToolUseBlock", "ToolCallBlock", "ToolCall"), "tool_call"),
    **dict.fromkeys(("ToolCallResult", "ToolResultBlock"), "tool_result"),
    "AIMessage": "ai",
    "AIMessageChunk": "AIMessageChunk",
    "HumanMessage": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
_SPEAKERS = {"User": "user", "Human": "user", "System": "system", "Developer": "system", "ToolMessage": "tool"} | {
    "ResultMessage": "result"
}
"""by how the class of a message is called; others are a model's"""
_OF_RUNS = ("run-", "lc_run", "msg_", "resp_", "chatcmpl")
"""how the ids of what a model answered begin in LangChain"""
_CONSTANTS = {"nan": float("nan"), "inf": float("inf"), "stop": "stop", "length": "length", "abort": "abort"}
"""what prints without quotes, as vLLM's reasons to stop"""
_LANGCHAIN = ("AIMessage", "AIMessageChunk", "HumanMessage", "SystemMessage", "ToolMessage")
_PARTS = {
    "UserPromptPart": "user-prompt",
    "SystemPromptPart": "system-prompt",
    "TextPart": "text",
    "ThinkingPart": "thinking",
    "ToolCallPart": "tool-call",
    "ToolReturnPart": "tool-return",
    "RetryPromptPart": "retry-prompt",
}
"""Pydantic AI's parts, which print their kind as what they are called"""
_DEEPEST = 60
BEGINS = re.compile(
    r"^(?:[^\n'\"(){}\[\]]{0,80}?(?:: |= ?|> ))??"
    r"(?=[A-Z]\w{0,80}+\(\s{0,40}+\w{1,40}+="
    r"|[{\[(](?:\s{0,40}+(?:'[^'\n]{0,60}+': )?+[{\[(]?+){0,3}[A-Z]\w{0,80}+\(\s{0,40}+\w{1,40}+="
    r"|(?:[{\[(]\s{0,40}+){1,3}'[^'\n]{0,60}+': [\w'\"\[{]"
    r"|\w{1,40}=(?:None|['\"\[]|[A-Z]\w*\())",
    re.M,
)
"""where a line prints an object, or what holds some, behind a word or two"""
_SPAN = re.compile(rf'"""[\s\S]*?"""|{_STRING}|[()\[\]{{}}]|\n')
_FIELD = re.compile(rf"{_STRING}|[()\[\]{{}}]|\b(?P<name>[A-Za-z_]\w*)\s*=(?!=)")
_SAID = {"content", "arguments", "parts", "tool_calls"}
_BODIES = {"choices", "candidates", "output"}
_BLOCKS = ("text", "thinking", "tool_use", "tool_call", "output_text")
_HELD = 4
"""steps down to the messages that a state holds"""


def is_printed(value: Any) -> bool:
    """Whether a text is what Python prints of an SDK's object, not what a model wrote."""
    return isinstance(value, str) and bool(_PRINTED.match(value) or _ADDRESS.fullmatch(value))


def printed_objects(text: str) -> Iterator[tuple[int, str]]:
    """What stands in a text of objects that may be answers, and where; one that is cut goes to the text's end."""
    at = 0
    while match := _OBJECT.search(text, at):
        name = _NAME.search(text, max(0, match.start() - 80), match.start())
        begin = name.start() if name else match.start()
        at = _end(text, begin)
        yield begin, text[begin:at]


def unprinted(value: str) -> dict[str, Any] | None:
    """What such a text says, as an object with the fields that were printed; None where it cannot be read."""
    if not (_PRINTED.match(value) or _BLOCK.match(value)):
        return None
    value_ = _read(value.strip())
    return value_ if isinstance(value_, dict) else None


def printed_block(value: str) -> dict[str, Any] | None:
    """A block of a message's content that was logged by its `str`, as `json.dumps(…, default=str)` does."""
    return unprinted(value) if _BLOCK.match(value) else None


def printed_list(value: str) -> list[Any] | None:
    """The objects of a list that Python printed; None where it is none."""
    value_ = _read(value) if re.match(r"\[[A-Z]\w{0,80}+\(", value) else None
    return value_ if isinstance(value_, list) else None


def printed_records(text: str, is_whole: Callable[[dict[str, Any]], bool]) -> Iterator[Any]:
    """What a text prints of objects, as records: messages each once, however often a state repeats them.

    What `is_whole` is left as it is, whatever messages it holds.

    What stands between them, and what cannot be read, comes as texts.
    """
    at, before = 0, set[str]()
    while match := BEGINS.search(text, at):
        yield text[at : match.start()]
        at = _end(text, match.end())
        value = _read(text[match.end() : at].strip())
        if isinstance(value, dict | list):
            items = value if isinstance(value, list) else [value]
            are_blocks = (isinstance(item, dict) and item.get("type") in _BLOCKS for item in items)
            if isinstance(value, list) and value and all(are_blocks):
                items = [{"role": "assistant", "content": items}]
            wholes = [isinstance(item, dict) and is_whole(item) for item in items]
            messages = [
                item_
                for item, is_it in zip(items, wholes, strict=True)
                for item_ in ([item] if is_it else _messages(item, 0))
            ]
            yield from (
                [message for message in messages if repr(message) not in before or any(wholes)] if messages else items
            )
            before.update(map(repr, messages))
        else:
            yield text[match.end() : at]
    yield text[at:]


def _end(text: str, at: int) -> int:
    """Where what is printed from `at` on ends: with its last bracket; fields side by side with their line."""
    depth, is_field = 0, re.match(r"\w+=", text[at : at + 80]) is not None
    for mark in _SPAN.finditer(text, at):
        depth += (mark[0] in "([{") - (mark[0] in ")]}") if mark[0] != "\n" else 0
        if depth <= 0 and mark[0] in (("\n",) if is_field else (")", "]", "}")):
            return mark.start() if is_field else mark.end()
    return len(text)


def _messages(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The messages that a state, an update or a result holds in its lists."""
    if isinstance(value, dict) and isinstance(value.get("raw_item"), dict):  # the Agents SDK's
        value = value["raw_item"]
    is_said = isinstance(value, dict) and bool(value.keys() & {"type", "role", "kind"} and value.keys() & _SAID)
    is_said = is_said or (isinstance(value, dict) and value.get("type") == "function_call_output")
    if is_said or (isinstance(value, dict) and "message_type" in value):  # Letta's
        yield value
    elif isinstance(value, dict | list) and depth < _HELD and not (isinstance(value, dict) and value.keys() & _BODIES):
        inners = value if isinstance(value, list) else [value[key] for key in value if not key.startswith("last_")]
        for inner in inners:
            yield from _messages(inner, depth + 1)


def _read(written: str) -> Any:
    """What a printed expression says, or the fields of an object; None where it cannot be read."""
    if _is_too_large(written):
        return None
    printed = _plain(written)
    expression = printed if re.match(r"[A-Za-z_][\w.]*\(|[{\[(]", printed) else _called(printed)
    node = None if expression is None else _expression(expression)
    try:
        return None if node is None else _value(node, 0)
    except (ValueError, RecursionError):
        return None


def _plain(written: str) -> str:
    """The text with what is no expression in it, outside of its strings, as None or as its value."""
    return _TOKEN.sub(lambda match: match["value"] or "None" if match[0][0] == "<" else match[0], written)


def _called(written: str) -> str | None:
    """Fields with spaces between them, as pydantic's `str`, with commas."""
    places = list(_fields(written))
    if not places:
        return None
    ends = [*places[1:], len(written)]
    return f"_({', '.join(written[at:end].strip() for at, end in zip(places, ends, strict=True))})"


def _fields(written: str) -> Iterator[int]:
    """Where the fields of the outermost level begin."""
    depth = 0
    for mark in _FIELD.finditer(written):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if depth == 0 and mark["name"]:
            yield mark.start()


def _value(node: ast.expr, depth: int) -> Any:
    """What an expression says; a call is an object of its named arguments. Raises `ValueError`."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(node, ast.Call):
        return _object(node, depth)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [None if key is None else _value(key, depth + 1) for key in node.keys]
        return {str(key): _value(item, depth + 1) for key, item in zip(keys, node.values, strict=True)}
    if isinstance(node, ast.Name | ast.Attribute):
        return _CONSTANTS.get(getattr(node, "id", ""))
    value = ast.literal_eval(node)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _object(node: ast.Call, depth: int) -> Any:
    called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    values = {word.arg.lstrip("_"): _value(word.value, depth + 1) for word in node.keywords if word.arg}
    if not values:
        return _value(node.args[0], depth + 1) if len(node.args) == 1 else None
    if called in _PARTS:
        values.setdefault("part_kind", _PARTS[called])
    if called in _TYPES:
        values.setdefault("type", _TYPES[called])
        values |= {} if called not in _LANGCHAIN else {"additional_kwargs": values.get("additional_kwargs", {})}
    elif called in ("ModelRequest", "ModelResponse") and "parts" in values:
        values.setdefault("kind", called.removeprefix("Model").lower())
    elif called.endswith("Message"):
        role = next((role for name, role in _SPEAKERS.items() if name in called), "assistant")
        values.setdefault("role", "user" if values.get("source") == "user" else role)  # AutoGen's have a source
    if called == "_" and values.keys() & {"additional_kwargs", "tool_call_id"}:  # LangChain's `str`, which says no type
        is_run = str(values.get("id")).startswith(_OF_RUNS)
        answers = is_run or values.keys() & {"tool_calls", "usage_metadata"} or values.get("response_metadata")
        values.setdefault("type", "tool" if "tool_call_id" in values else "ai" if answers else "human")
    if called == "RequestOutput" and "outputs" in values:  # vLLM's
        return {"prompt": values.get("prompt"), "response": {"choices": values["outputs"]}}
    if "tool_name" in values and "args" in values:  # pydantic-ai's
        values["arguments"] = values["args"]
    return values


_OPENERS = ("{", "[", "'", '"')


def _expression(text: str) -> ast.expr | None:
    """The expression that a text is; None where it is none, or larger than is read."""
    if _is_too_large(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_too_large(text: str) -> bool:
    """Whether what is no string in an expression is more than is read; what a string has before it counts, too."""
    return len(text) > _MOST_BARE and len(_BARE_STRING.sub("''", text)) > _MOST_BARE


def from_repr(value: Any) -> Any:
    """What a text says; None where it is no literal. An object stays as it is."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or value[:1] not in _OPENERS or (node := _expression(value)) is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
