"""Objects as Python prints them, read as data and never run: `ChatCompletion(choices=[…])`, `content='…' id='…'`."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

_MOST = 1024 * 1024
"""characters of a text that is looked into"""
_PRINTED = re.compile(
    r"\s*(?:[\w.]{0,80}(?:Completion|Response|Message|Messages|Chunk|Result|Output|Generation|Prediction)\(\s*\w{1,40}="
    r"|(?:content|text|parts|role|id|candidates|choices|sdk_http_response)=(?:['\"\[]|[A-Z]\w*\())"
)
"""how `repr` and `str` of an SDK's object begin"""
_OBJECT = re.compile(r"(?:Completion|Response|Messages?|Prediction|AgentRunResult)\(\s*\w{1,40}=")
_NAME = re.compile(r"[\w.]{0,80}\Z")
_BRACKET = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|[()\[\]{}]""")
_ADDRESS = re.compile(r"\s*<[\w.\s]{1,200}? object at 0x[0-9a-fA-F]+>")
_TOKEN = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|"""
    r"""<[A-Za-z_][\w.]*(?:: (?P<value>'[^'\n]*'|"[^"\n]*"|-?\d+)|[^<>\n]{0,200})>"""
)
"""a string, or what prints as no expression: `<Kind.STOP: 'stop'>`, `<object at 0x7f>`"""
_TYPES = {
    **dict.fromkeys(("TextPart", "TextBlock", "Text", "TextContent"), "text"),
    **dict.fromkeys(("ThinkingPart", "ThinkingBlock"), "thinking"),
    **dict.fromkeys(("ToolCallPart", "ToolUseBlock", "ToolCallBlock"), "tool_call"),
    **dict.fromkeys(("AIMessage", "AIMessageChunk"), "ai"),
    "HumanMessage": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
_CONSTANTS = {"nan": float("nan"), "inf": float("inf")}
_DEEPEST = 60


def is_printed(value: Any) -> bool:
    """Whether a text is what Python prints of an SDK's object, not what a model wrote."""
    return isinstance(value, str) and bool(_PRINTED.match(value) or _ADDRESS.fullmatch(value))


def printed_objects(text: str) -> Iterator[tuple[int, str]]:
    """What stands in a text of objects that may be answers, and where; one that is cut goes to the text's end."""
    at = 0
    while match := _OBJECT.search(text, at):
        name = _NAME.search(text, max(0, match.start() - 80), match.start())
        begin, depth, at = name.start() if name else match.start(), 0, len(text)
        for bracket in _BRACKET.finditer(text, begin):
            depth += (bracket[0] in "([{") - (bracket[0] in ")]}")
            if depth == 0 and bracket[0] == ")":
                at = bracket.end()
                break
        yield begin, text[begin:at]


def unprinted(value: str) -> dict[str, Any] | None:
    """What such a text says, as an object with the fields that were printed; None where it cannot be read."""
    if len(value) > _MOST or not _PRINTED.match(value):
        return None
    printed = _plain(value.strip())
    written = printed if re.match(r"[\w.]+\(", printed) else _called(printed)
    if written is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(written, mode="eval")
        said = _value(tree.body, 0)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


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
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({written})").readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
    starts = [0]
    for line in f"({written})".splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token, following in pairwise(tokens):
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        if depth == 1 and token.type == tokenize.NAME and following.string == "=":
            yield starts[token.start[0] - 1] + token.start[1] - 1


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
    values = {word.arg: _value(word.value, depth + 1) for word in node.keywords if word.arg}
    if not values:
        return _value(node.args[0], depth + 1) if len(node.args) == 1 else None
    if called in _TYPES:
        values.setdefault("type", _TYPES[called])
    elif called.endswith("Message") or called == "ModelResponse":
        values.setdefault("role", "user" if values.get("source") == "user" else "assistant")  # AutoGen's have a source
    if "tool_name" in values and "args" in values:  # pydantic-ai's
        values["arguments"] = values["args"]
    return values
