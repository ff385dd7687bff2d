"""The arguments of native calls, as SDKs read them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import ARGUMENTS
from webapp.parsing.profiles._about import described, restated
from webapp.parsing.profiles._arguments import empty, loads, made, must_be_object, no_prototype, read_by
from webapp.parsing.profiles._cutting import choose_if_ok, decode_other, whole
from webapp.parsing.profiles._jiter import CLOSERS, partial
from webapp.parsing.profiles.four_tier import WHITE
from webapp.parsing.profiles.partial_json import read_partial
from webapp.parsing.span import Span, stripped

_MARK = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)


def _closed(tracer: Tracer) -> bool:
    """White space and commas at the end go, closers of the brackets that are open outside of strings come."""
    raw = tracer.raw
    stack: list[str] = []
    for match in _MARK.finditer(raw):
        if closer := CLOSERS.get(match[0]):
            stack.append(closer)
        elif stack[-1:] == [match[0]]:
            stack.pop()
    if not stack:
        return False
    end = len(raw.rstrip().rstrip(","))
    edit = Edit("missing_closer", Span(end, len(raw)), raw[end:], "".join(reversed(stack)))
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("whole", whole(raw), [edit]))
    return tracer.truncated


def _pre_parsed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    decoded = {key: _decoded(item) for key, item in value.items()}
    return value if all(decoded[key] is item for key, item in value.items()) else decoded


def _decoded(item: Any) -> Any:
    try:
        value = json.loads(item) if isinstance(item, str) else item
    except (ValueError, RecursionError):
        return item
    return item if isinstance(value, str | int | float) else value


_KEYS = re.compile(
    r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|[{,]\s*([A-Za-z_][A-Za-z0-9_]*)(?=\s*:)""",
    re.DOTALL,
)

_CAUGHT = ("SyntaxError", "IndentationError", "TabError", "ValueError", "UnicodeEncodeError")


def _plain(tracer: Tracer) -> bool:
    return _read(tracer, "whole", whole(tracer.raw))


def _quoted(tracer: Tracer) -> bool:
    edits = _quotes(tracer.raw, whole(tracer.raw))
    return bool(edits) and _read(tracer, "whole", whole(tracer.raw), edits)


def _fenced(tracer: Tracer) -> bool:
    """What is between three ticks at both ends, less a word json in front, as it is and with its keys quoted."""
    raw = tracer.raw
    start, end = stripped(raw)
    if end - start < 6 or not (raw.startswith("```", start, end) and raw.endswith("```", start, end)):
        return False
    span = stripped(raw, start + 3, end - 3)
    if raw[span.start : min(span.end, span.start + 4)].lower() == "json":
        span = stripped(raw, span.start + 4, span.end)
    if span.start == span.end:
        return False
    edits = _quotes(raw, span)
    return _read(tracer, "fenced", span) or (bool(edits) and _read(tracer, "fenced", span, edits))


def _quotes(raw: str, span: Span) -> list[Edit]:
    """The edits that put quotes round bare keys behind { or a comma, outside of strings."""
    matches = (match for match in _KEYS.finditer(raw, *span) if match[1])
    return [Edit("unquoted_key", Span(*match.span(1)), match[1], f'"{match[1]}"') for match in matches]


def _read(tracer: Tracer, strategy: str, span: Span, edits: Sequence[Edit] = ()) -> bool:
    """JSON, else a Python literal; decided too where an error escapes that the original does not catch."""
    attempt = tracer.attempt(strategy, span, edits)
    if attempt.error and attempt.error.type != "JSONDecodeError":
        return True
    if not attempt.ok:
        attempt = decode_other(tracer, "literal", span, "read as a Python literal", edits)
    if attempt.ok:
        tracer.choose(attempt)
    return attempt.ok or not (attempt.reason or "").startswith(_CAUGHT)


@described("openai-python", ARGUMENTS, version=restated("3.57.0"))
def openai_python(tracer: Tracer) -> None:
    """openai-python: the arguments of a strict tool by one json.loads; `parse` reads them, other helpers leave a text.

    Reads a native call's arguments in chat.completions.parse. 1. json.loads of the whole text, once: no text is an
    error, any JSON passes. A tool that is not strict keeps its text; a pydantic model's check is not known.

    Source: openai 3.57.0, openai/lib/_parsing/_completions.py, parse_function_tool_arguments.
    """
    read_by(tracer, loads())


@described("openai-python-stream", ARGUMENTS, version=restated("3.57.0"))
def openai_python_stream(tracer: Tracer) -> None:
    """openai-python while arguments stream in: jiter's partial mode, where a string at the cut end is left out.

    Reads what has arrived of a strict tool's arguments (`parsed_arguments` of chat.completions.stream). 1. jiter in
    partial mode: what is cut off at the end is left out with its key, lists and objects are closed. 2. What stands
    behind the first value is ignored; so is all behind an item that no comma or closer follows. 3. Any other error ends
    the stream with a ValueError. The text is read as if it had come in one piece.

    Source: openai 3.57.0, openai/lib/streaming/chat/_completions.py, and jiter 0.19.0.
    """
    read_by(tracer, partial)


@described("openai-node-stream", ARGUMENTS, version="restated-6.49.0", original="TypeScript")
def openai_node_stream(tracer: Tracer) -> None:
    """openai-node while arguments stream in: what is cut off is completed, a number at the cut end left out.

    Reads what has arrived of a strict tool's arguments (chat.completions.stream): partial-json in the SDK's own copy.
    1. At the end of the text strings are closed, words completed, lists and objects given as far as they go; a number
    is left out, since more digits may follow. 2. The same happens at anything that is no JSON, without an error. 3.
    What stands behind the value is ignored. The finished call goes to JSON.parse.

    Source: openai 6.49.0 (npm), _vendor/partial-json-parser/parser.js, partialParse. Nested more than 300 deep is not
    read. Here large integers stay exact.
    """
    read_partial(tracer, numbers=False)


@described("openai-agents", ARGUMENTS, version=restated("0.24.0-2"))
def openai_agents(tracer: Tracer) -> None:
    """OpenAI Agents SDK: the arguments of a function tool must be one JSON object; no text stands for none.

    Reads the arguments of a native call. 1. No text is {}. 2. json.loads of the whole text, once. 3. A value that is no
    object is refused. Nothing is repaired; the tool's own schema is not known here.

    Source: openai-agents 0.24.0, agents/tool.py, _parse_function_tool_json_input.
    """
    read_by(tracer, empty(), loads(must_be_object))


@described("anthropic-python", ARGUMENTS, version=restated("2.14.0"))
def anthropic_python(tracer: Tracer) -> None:
    """Anthropic's Python SDK: a tool's input as it streams in, by jiter's partial mode; nothing becomes {}.

    Reads the input of a native call that streams in. 1. No text leaves the {} with which a call begins. 2. jiter in
    partial mode: what is cut off at the end is left out with its key, lists and objects are closed, so an input that
    max_tokens cut off looks whole. 3. What stands behind the first value is ignored. 4. Any other error is a
    ValueError. The text is read as if it came in one piece; without a stream an input comes decoded.

    Source: anthropic 2.14.0, anthropic/lib/streaming/_messages.py, accumulate_event, and jiter 0.19.0.
    """
    read_by(tracer, empty(), partial)


@described("langchain-tool-call", ARGUMENTS, version=restated("1.8.3-2"))
def langchain_tool_call(tracer: Tracer) -> None:
    """LangChain's `parse_tool_call`: arguments of a native call, raw line feeds in strings allowed; nothing becomes {}.

    Reads the arguments of a native call. 1. No text is {}. 2. json.loads with strict=False: raw line feeds and tabs in
    strings pass. 3. null, false, 0, an empty text and an empty list are made {}. Anything else that decodes is passed
    on, lists too. Nothing is repaired: what does not decode becomes an invalid tool call.

    Source: langchain-core 1.8.3, langchain_core/output_parsers/openai_tools.py, parse_tool_call.
    """
    read_by(tracer, empty(), made(lambda value: value or {}, "what Python counts as false is made {}", strict=False))


@described("litellm-tool-call", ARGUMENTS, version=restated("1.110.2"))
def litellm_tool_call(tracer: Tracer) -> None:
    """LiteLLM's `parse_tool_call_arguments`: JSON, else with open brackets closed; blank becomes {}.

    Reads the arguments of a call that LiteLLM passes on to Anthropic or Bedrock. 1. White space alone, or nothing, is
    {}. 2. json.loads. 3. Else commas at the end are cut off, brackets that are open outside of strings are closed, and
    json.loads once more: a text cut off inside a string stays an error.

    Source: litellm 1.110.2, litellm/litellm_core_utils/prompt_templates/tool_call_json_repair.py,
    parse_tool_call_arguments.
    """
    read_by(tracer, empty(None), loads(), _closed)


@described("mcp-python", ARGUMENTS, version=restated("2.3.0"))
def mcp_python(tracer: Tracer) -> None:
    """MCP Python SDK: texts among a tool's arguments that are JSON of a list, an object, or null are decoded once more.

    Reads the arguments that a server built with MCPServer (FastMCP) is called with. 1. json.loads. 2. Each argument
    that is a text goes to json.loads; where that gives a list, an object or null, it takes the text's place. Numbers,
    true and false in a text stay text. In fact only parameters that are not annotated as str: the tool's signature is
    not known here, and all are taken for such.

    Source: mcp 2.3.0, mcp/server/mcpserver/utilities/func_metadata.py, pre_parse_json.
    """
    read_by(tracer, made(_pre_parsed, "texts among the arguments that are JSON are decoded"))


@described("vercel-ai-tool-call", ARGUMENTS, version="restated-7.0.173")
def vercel_ai_tool_call(tracer: Tracer) -> None:
    """The Vercel AI SDK's tool calls: JSON.parse of the input, blank input as {}, keys of prototypes refused.

    Reads the input of a native call. 1. White space alone, or nothing, is {}. 2. JSON.parse of the whole, once. 3. A
    key __proto__, or constructor with prototype in it, is refused at any depth. What fails becomes an invalid tool
    call; a repairToolCall of the program's own and the tool's schema are not known here.

    Source: ai 7.0.173, src/generate-text/parse-tool-call.ts, and @ai-sdk/provider-utils, secure-json-parse.ts. The
    original is TypeScript: here Python's decoder words the errors, and large integers stay exact.
    """
    read_by(tracer, empty(WHITE), loads(no_prototype, finite=True))


@described("google-adk", ARGUMENTS, version=restated("2.13.0-2"))
def google_adk(tracer: Tracer) -> None:
    """Google ADK over LiteLLM: JSON, else a Python literal, else with bare keys quoted, else without its fence.

    Reads the arguments of a native call of a model that LiteLLM serves. 1. No text is {}. 2. json.loads, else
    ast.literal_eval. 3. Both again with quotes round bare keys. 4. Of a text that begins and ends with ```, both again
    over what is between, less a word json, and once more with quotes round bare keys. Gemini's own calls come decoded
    and pass through no parser.

    Source: google-adk 2.13.0, google/adk/models/lite_llm.py, _parse_tool_call_arguments.
    """
    read_by(tracer, empty(), _plain, _quoted, _fenced)


plugins = (
    openai_python,
    openai_python_stream,
    openai_node_stream,
    openai_agents,
    anthropic_python,
    langchain_tool_call,
    litellm_tool_call,
    mcp_python,
    vercel_ai_tool_call,
    google_adk,
)
